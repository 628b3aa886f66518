// From what is seen of a thread from outside (it calls MPI, it waits for a GPU) to intervals: when
// it computed, when it communicated, when it waited and left its core alone.
//
// Calls come in bursts: ten thousand messages of a microsecond are one interval, or none. So calls
// of one kind with less than k_merge_s between them are one stretch. It is reported if it lasts at
// least k_merge_s and most of it was spent inside the calls; else it belongs to the computing
// around it. What lies between two stretches is computing unless the thread went to sleep and used
// its core for less than half of it: then it waited in a way that nobody has told us of. (Without
// going to sleep it may also have used little: others had the core.)
//
// Invariants:
//  - Used by one thread at a time; no clock of its own, so that a test says what time it is. The
//    thread's usage is asked for at most once per k_merge_s: it costs a system call.
//  - The intervals of one result are sorted, disjoint, and not shorter than k_merge_s.
#pragma once

#include "plan/intervals.hpp"

namespace caesura::run {

using plan::Intervals;
using plan::length_s;

/// What a thread does instead of computing.
enum class Doing { communicates, waits };

/// What a thread has used up so far.
struct Usage {
    double cpu_s = 0.0;
    std::int64_t sleeps = 0;  ///< how often it gave the core up to wait for something
};

/// What it did in one iteration; seconds since the origin given to begin().
struct Seen {
    Intervals computing;
    Intervals communicating;
    Intervals spinning;  ///< of these, those in which the thread kept its core busy
    Intervals waiting;
};

class CallStretches {
  public:
    static constexpr double k_merge_s = 200e-6;
    static constexpr double k_busy_share = 0.5;
    using UsageClock = Usage (*)();

    /// @param usage  of the thread that calls enter and leave.
    explicit CallStretches(UsageClock usage) : usage_(usage) {}

    void begin(double now_s);
    /// Calls may nest: the outermost counts (MPI-IO sends messages, too).
    void enter(Doing doing, double now_s);
    void leave(double now_s);
    /// Valid until the next begin().
    const Seen& finish(double now_s);
    /// What is known by now.
    const Seen& seen() const { return seen_; }

  private:
    struct Moment {
        double at_s = 0.0;
        Usage usage;
    };
    Moment moment(double now_s);
    void close_stretch();
    void close_computing(const Moment& end);
    static bool busy(const Moment& begin, const Moment& end);
    plan::Interval relative(const Moment& begin, const Moment& end) const;

    UsageClock usage_;
    Seen seen_;
    double origin_s_ = 0.0;
    Moment asked_;  // when the usage was last read
    Moment computing_since_;
    // The stretch of calls that may still go on.
    bool in_stretch_ = false;
    Doing doing_ = Doing::communicates;
    Moment stretch_begin_, stretch_end_;
    double inside_s_ = 0.0;
    int depth_ = 0;
    double entered_s_ = 0.0;
};

}  // namespace caesura::run
