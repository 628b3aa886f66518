// Observing the application: its busy marks, and what is seen of its thread from outside, kept by
// kind of iteration, become the obstacles expected of the next iterations.
//
// Invariants:
//  - Marks, doings and iterations are told by the application's thread alone. What is expected and
//    "is it busy now" may be asked by any thread at any time, without a lock: a reader that meets
//    an update tries again, a few times.
//  - Executors of several writers may share one: it is the same application.
//  - What is expected is moved by how late the application is, and what is over is left out.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/event.hpp"
#include "plan/dump_plan.hpp"
#include "plan/iterations.hpp"
#include "run/call_stretches.hpp"

namespace caesura::run {

using plan::Expectation;

class Observer {
  public:
    enum class Lane { compress, write };

    Observer();

    /// @param label  what kind of iteration it is, in the application's words.
    void begin_iteration(double now_s, std::string_view label = {});
    /// The iteration is about to end: from here on the next one is expected.
    /// @param dumped  a dump was handed over: the lanes will work in the next iteration.
    void expect_next(double now_s, bool dumped);
    void end_iteration(double now_s);
    /// Enter and leave an obstacle. Marks of one lane may nest; the outermost counts.
    void enter(Lane lane, double now_s);
    void leave(Lane lane, double now_s);

    // ---- seen from outside (call_stretches.hpp), in addition to the marks
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

    double last_iteration_s() const { return last_s_.load(std::memory_order_relaxed); }
    /// Obstacles of the running iteration as recorded so far (application's thread).
    const plan::Obstacles& recorded() const { return recorded_.obstacles; }
    /// Is the outermost mark of this lane open? (application's thread)
    bool inside(Lane lane) const { return lanes_[index(lane)].depth > 0; }

    /// Has an iteration begun and not ended?
    bool running() const { return running_; }

    // ---- for the lanes
    /// To be raised by wake(). Application's thread, as is detach(), which forgets it.
    void attach(base::Event& event) { waiting_.push_back(&event); }
    void detach(base::Event& event) { std::erase(waiting_, &event); }
    /// Something about obstacles has changed. Application's thread.
    void wake() {
        for (base::Event* event : waiting_) event->raise();
    }
    Expectation expected() const;
    /// Seconds the application has spent in compress obstacles since the start.
    double computing_s(double now_s) const;
    /// CPU time that threads at idle priority have had of its pauses since the start.
    double worked_s() const { return worked_s_.load(std::memory_order_relaxed); }
    void note_worked(double cpu_s) { worked_s_.fetch_add(cpu_s); }
    bool application_computes() const {
        return computing_since_s_.load(std::memory_order_acquire) >= 0.0;
    }
    bool application_writes() const;
    double iteration_begin_s() const { return begin_s_.load(std::memory_order_relaxed); }
    /// Expected write obstacles, seconds since iteration_begin_s().
    std::vector<plan::Interval> write_obstacles() const;

  private:
    // Intervals of one lane beyond these are not published: they are noise.
    static constexpr std::size_t k_published = 128;
    static constexpr std::size_t k_ahead = 4;  // iterations looked ahead at most
    static std::size_t index(Lane lane) { return lane == Lane::compress ? 0 : 1; }

    struct LaneState {
        int depth = 0;
        double open_s = 0.0;           // begin of the open mark
        std::size_t next = 0;          // the expected mark that should come next
        std::size_t of_iteration = 0;  // the first so many published ones are of this iteration
        std::vector<plan::Interval> expected;  // these, since the begin of the iteration
        bool matched = false;                  // the open mark is expected[next - 1]
        double late_before_s = 0.0;            // before it was matched
    };
    void publish(double origin_s, std::string_view label, bool after_dump, bool next);
    void leave_open_calls();
    void pass(LaneState& lane, std::size_t which, double relative_s);
    void match(LaneState& lane, std::size_t which, double relative_s);
    plan::IterationRecord record_until(double now_s) const;

    std::vector<base::Event*> waiting_;
    plan::IterationHistory history_;
    plan::IterationRecord recorded_;
    std::array<LaneState, 2> lanes_;
    std::string label_;
    bool running_ = false, dumped_ = false, after_dump_ = false, added_ = false;
    std::vector<std::string> ahead_;  // labels of the iterations expected, the running one first

    CallStretches stretches_;
    Seen seen_;
    bool told_ = false;  // of a call, in this iteration
    int calls_ = 0;      // of communication the thread is in, told since the iteration began

    std::atomic<int> writing_{0};
    mutable std::atomic<bool> refused_{false};  // by application_writes(), since the last wake-up
    std::atomic<double> computed_s_{0.0}, computing_since_s_{-1.0};  // by the clock, < 0: it is not
    std::atomic<double> worked_s_{0.0};
    std::atomic<double> begin_s_{0.0};
    std::atomic<double> last_s_{0.0};

    // Published under version_, odd while being written (a sequence lock without fences: the data
    // are released and acquired one by one).
    struct Published {
        std::atomic<std::size_t> count{0};
        std::array<std::atomic<double>, k_published> begin_s{}, end_s{};
        std::atomic<std::size_t> passed{0};  // outside the version: only ever too small
    };
    std::atomic<std::uint64_t> version_{0};
    std::atomic<double> origin_s_{0.0}, length_s_{0.0}, slip_s_{0.0}, spread_s_{0.0};
    std::atomic<std::uint64_t> kind_{0};
    std::atomic<double> late_s_{0.0};  // outside the version as well
    std::array<Published, 2> published_;
};

}  // namespace caesura::run
