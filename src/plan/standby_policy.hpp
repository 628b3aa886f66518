// When work at normal priority must begin so that dumps are written by the times that were
// promised, and whose turn it is where several need the same core: pure decisions over plain
// numbers.
//
// Invariant: no clock, no thread: what a test says is what the standby threads do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

namespace caesura::plan {

/// What a thread at normal priority is counted on to get of a core that the application keeps busy;
/// for compressing and for writing.
inline constexpr double k_standby_share = 0.5;

/// By when a dump should be written: a fifth of the promise is kept for what is not expected.
/// @param due_s        everything is to be written by then.
/// @param max_delay_s  what was promised: due_s less the hand-over.
constexpr double done_by_s(double due_s, double max_delay_s) {
    constexpr double k_margin = 0.2;
    return due_s - k_margin * max_delay_s;
}

/// What one dump still needs.
struct DueWork {
    double by_s = std::numeric_limits<double>::infinity();  ///< done_by_s(); infinity: no promise
    double left_s = 0.0;                                    ///< CPU time and time of writes
    bool open = false;        ///< has blocks that its standby thread can compress now
    std::uint32_t whose = 0;  ///< of the thread; of works that are due together the lowest is first
};

/// What is due sooner is done sooner.
constexpr bool is_before(const DueWork& a, const DueWork& b) {
    return std::tie(a.by_s, a.whose) < std::tie(b.by_s, b.whose);
}

struct StandbyTurn {
    /// The latest moment to begin with what is due first, so that this work and all that is due
    /// after it is done in time.
    double begin_s = std::numeric_limits<double>::infinity();
    /// The latest moment to begin with this work, others doing meanwhile what is before it.
    double alone_s = std::numeric_limits<double>::infinity();
    bool is_first = true;  ///< no other thread has something open that is before it
    double left_s = 0.0;   ///< of this work and of all that is before it
};

/// The turn of `mine`, which is among `all`. Half a core is counted on for all of them together: on
/// full cores threads at normal priority share one with the application. Done in the order in which
/// it is due (which is the best order there is), all is in time if anything is.
/// @param all  sorted by is_before(). O(n).
inline StandbyTurn turn_of(std::span<const DueWork> all, const DueWork& mine) {
    StandbyTurn turn;
    double sum_s = 0.0, before_s = 0.0;
    for (const DueWork& work : all) {
        sum_s += work.left_s;
        if (!is_before(mine, work)) turn.left_s = sum_s;
        if (!is_before(work, mine)) {
            turn.begin_s = std::min(turn.begin_s, work.by_s - sum_s / k_standby_share);
        } else if (work.whose != mine.whose) {
            before_s += work.left_s;
            turn.is_first = turn.is_first && !work.open;
        }
    }
    turn.alone_s = turn.begin_s + before_s / k_standby_share;
    return turn;
}

}  // namespace caesura::plan
