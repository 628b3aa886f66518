// Observing the application: its busy marks, and what is seen of its thread from outside, become
// the obstacles predicted for the next iteration.
//
// Invariants:
//  - begin/end/mark/observe are called by the application's thread; the predicted write obstacles,
//  the
//    drift and "is it writing now" may be read by any thread at any time, without a lock. A reader
//    that sees half of an update plans badly for a moment, and nothing worse.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "caesura/plan.hpp"
#include "run/activity.hpp"

namespace caesura::run {

class Observer {
  public:
    enum class Lane { compress, write };

    Observer();

    void begin_iteration(double now_s);
    void end_iteration(double now_s);
    /// Enter and leave an obstacle. Marks of one lane may nest; the outermost counts.
    void enter(Lane lane, double now_s);
    void leave(Lane lane, double now_s);

    // ---- seen from outside (activity.hpp), in addition to the marks
    void observe_enter(Doing doing, double now_s);
    /// @return  true if the write lane has been refused meanwhile and must look again.
    [[nodiscard]] bool observe_leave(Doing doing, double now_s);
    /// Makes what was seen since begin_iteration obstacles of this iteration. Once per iteration,
    /// before end_iteration(). Marks and observation count a moment once:
    ///  - communication is a write obstacle, whoever says so;
    ///  - an application that marks its computing knows better what it is; else it is what was seen
    ///    less what is marked as communication; never while it waits;
    ///  - communication that spins is computing, too, where the compress threads have no core of
    ///    their own.
    /// @param watched  somebody would have told us of calls: no calls then means computing.
    void settle(double now_s, bool watched, bool workers_have_a_core);
    /// What settle() added to the marks: nothing that they say too.
    const Seen& seen() const { return seen_; }

    /// What the last finished iteration says of the next: seconds since its begin.
    plan::Obstacles predicted() const;
    double last_iteration_s() const { return last_s_.load(std::memory_order_relaxed); }
    /// Obstacles of the running iteration as recorded so far (application's thread).
    const plan::Obstacles& recorded() const { return recorded_; }

    // ---- for the write lane
    bool application_writes() const;
    double iteration_begin_s() const { return begin_s_.load(std::memory_order_relaxed); }
    /// Predicted write obstacles of the running iteration, moved by how late the application is.
    std::vector<plan::Interval> write_obstacles() const;

  private:
    static constexpr std::size_t k_published = 128;  // more are not published: they are noise
    void leave_open_calls();
    void publish_prediction();
    void note_drift(double relative_begin_s);

    plan::Obstacles recorded_, last_;
    double open_compress_s_ = 0.0, open_write_s_ = 0.0;
    int compressing_ = 0, marking_write_ = 0;
    std::size_t write_marks_ = 0;  // of the running iteration

    Activity activity_;
    Seen seen_;
    bool told_ = false;  // of a call, in this iteration
    int calls_ = 0;      // of communication the thread is in, told since the iteration began

    std::atomic<int> writing_{0};
    mutable std::atomic<bool> refused_{false};  // by application_writes(), since the last wake-up
    std::atomic<double> begin_s_{0.0};
    std::atomic<double> last_s_{0.0};
    std::atomic<double> drift_s_{0.0};
    std::atomic<std::size_t> n_published_{0};
    std::array<std::atomic<double>, k_published> published_begin_s_{};
    std::array<std::atomic<double>, k_published> published_end_s_{};
};

}  // namespace caesura::run
