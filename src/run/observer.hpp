// Observing the application: its busy marks become the obstacles predicted for the next iteration.
//
// Invariants:
//  - begin/end/mark are called by the application's thread; the predicted write obstacles, the
//    drift and "is it writing now" may be read by any thread at any time, without a lock. A reader
//    that sees half of an update plans badly for a moment, and nothing worse.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "caesura/plan.hpp"

namespace caesura::run {

class Observer {
  public:
    enum class Lane { compress, write };

    void begin_iteration(double now_s);
    void end_iteration(double now_s);
    /// Enter and leave an obstacle. Marks of one lane may nest; the outermost counts.
    void enter(Lane lane, double now_s);
    void leave(Lane lane, double now_s);

    /// What the last finished iteration says of the next: seconds since its begin.
    plan::Obstacles predicted() const;
    double last_iteration_s() const { return last_s_.load(std::memory_order_relaxed); }
    /// Obstacles of the running iteration as recorded so far (application's thread).
    const plan::Obstacles& recorded() const { return recorded_; }

    // ---- for the write lane
    bool application_writes() const { return writing_.load(std::memory_order_acquire) > 0; }
    double iteration_begin_s() const { return begin_s_.load(std::memory_order_relaxed); }
    /// Predicted write obstacles of the running iteration, moved by how late the application is.
    std::vector<plan::Interval> write_obstacles() const;

  private:
    static constexpr std::size_t k_published = 128;  // more are not published: they are noise
    void publish_prediction();
    void note_drift(double relative_begin_s);

    plan::Obstacles recorded_, last_;
    double open_compress_s_ = 0.0, open_write_s_ = 0.0;
    int compressing_ = 0;
    std::size_t write_marks_ = 0;  // of the running iteration

    std::atomic<int> writing_{0};
    std::atomic<double> begin_s_{0.0};
    std::atomic<double> last_s_{0.0};
    std::atomic<double> drift_s_{0.0};
    std::atomic<std::size_t> n_published_{0};
    std::array<std::atomic<double>, k_published> published_begin_s_{};
    std::array<std::atomic<double>, k_published> published_end_s_{};
};

}  // namespace caesura::run
