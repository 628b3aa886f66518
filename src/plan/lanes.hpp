// The time that is left in one lane, and where the next task goes in it.
//
// Invariants:
//  - All comparisons are exact: a task occupies [begin, begin + duration) with that very sum (a
//    suspended one [begin, resumed_end_s())), here and in check.cpp, so that check() accepts what
//    schedule() produced without a tolerance.
//  - An interval of zero length excludes nothing when it is an obstacle. A task of zero length
//    takes a point that lies strictly inside no other task and no obstacle; both ends are allowed.
#pragma once

#include <algorithm>
#include <limits>

#include "plan/schedule.hpp"

namespace caesura::plan {

/// Does `interval` hold no time? An obstacle like this excludes nothing.
inline bool is_empty(const Interval& interval) { return !(interval.begin_s < interval.end_s); }

/// When a task that begins outside all obstacles ends, if each obstacle suspends it.
/// @param next  the first obstacle that ends after begin_s; moved to the first that ends after the
///              result.
inline double resumed_end_s(std::span<const Interval> obstacles, std::size_t& next, double begin_s,
                            double duration_s) {
    double at_s = begin_s;
    for (; next < obstacles.size(); ++next) {
        const Interval& obstacle = obstacles[next];
        if (is_empty(obstacle) || obstacle.end_s <= at_s) continue;
        if (at_s + duration_s <= obstacle.begin_s) break;
        duration_s -= std::max(0.0, obstacle.begin_s - at_s);
        at_s = obstacle.end_s;
    }
    return at_s + duration_s;
}

/// The first moment at or after begin_s from which duration_s pass before the next obstacle.
/// @param next  as in resumed_end_s(); moved to the first obstacle that ends after the result.
inline double clear_s(std::span<const Interval> obstacles, std::size_t& next, double begin_s,
                      double duration_s) {
    for (; next < obstacles.size(); ++next) {
        const Interval& obstacle = obstacles[next];
        if (is_empty(obstacle) || obstacle.end_s <= begin_s) continue;
        if (begin_s + duration_s <= obstacle.begin_s) break;
        begin_s = obstacle.end_s;
    }
    return begin_s;
}

/// Places each task after all tasks placed before it. An obstacle suspends a task instead of
/// excluding it: lane time runs only in the gaps. Nothing is left over behind the frontier, so
/// there is nothing to fill.
class Resuming {
  public:
    /// @param obstacles  sorted and disjoint; must outlive this object.
    explicit Resuming(std::span<const Interval> obstacles) : obstacles_(obstacles) {}

    Interval place(double ready_s, double duration_s) {
        double begin_s = std::max(frontier_s_, ready_s);
        for (; next_ < obstacles_.size(); ++next_) {
            const Interval& obstacle = obstacles_[next_];
            if (is_empty(obstacle) || obstacle.end_s <= begin_s) continue;
            if (begin_s < obstacle.begin_s || begin_s + duration_s <= obstacle.begin_s) break;
            begin_s = obstacle.end_s;
        }
        frontier_s_ = resumed_end_s(obstacles_, next_, begin_s, duration_s);
        return {begin_s, frontier_s_};
    }
    void restart(const Resuming&) {
        next_ = 0;
        frontier_s_ = 0.0;
    }
    std::uint64_t steps() const { return next_; }

  private:
    std::span<const Interval> obstacles_;
    std::size_t next_ = 0;  // the obstacles before it end at or before the frontier
    double frontier_s_ = 0.0;
};

/// Places each task in the earliest idle interval that holds it; placed tasks never move.
///
/// A sorted vector, searched from the first gap that ends after `ready_s`: with the tens to
/// thousands of tasks of a dump it beats a tree. Gaps too short for any task are left out; where
/// there are tasks of zero length, gaps of zero length stay, because such a task may lie on the
/// boundary of two neighbours.
class Gaps {
  public:
    /// @param obstacles  sorted and disjoint.
    /// @param n_tasks    how many tasks will be placed (capacity only).
    /// @param least_s    no task is shorter than this.
    Gaps(std::span<const Interval> obstacles, std::size_t n_tasks, double least_s = 0.0)
        : least_s_(least_s * (1.0 - 1e-9)) {  // a task may fit by the rounding of its end
        gaps_.reserve(obstacles.size() + n_tasks + 1);
        double idle_since_s = 0.0;
        for (const Interval& obstacle : obstacles) {
            if (is_empty(obstacle) || obstacle.end_s <= 0.0) continue;
            if (obstacle.begin_s - idle_since_s >= least_s_)
                gaps_.push_back({idle_since_s, obstacle.begin_s});
            idle_since_s = obstacle.end_s;
        }
        gaps_.push_back({idle_since_s, std::numeric_limits<double>::infinity()});
    }

    /// Take the earliest place at or after `ready_s`.
    Interval place(double ready_s, double duration_s) {
        const auto ends_before = [](const Interval& gap, double time_s) {
            return gap.end_s < time_s;
        };
        auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), ready_s, ends_before);
        const auto first = gap;
        double begin_s = std::max(gap->begin_s, ready_s);
        while (!(begin_s + duration_s <= gap->end_s)) {  // the last gap never ends
            ++gap;
            begin_s = std::max(gap->begin_s, ready_s);
        }
        steps_ += static_cast<std::uint64_t>(gap - first) + 8;
        const Interval taken{begin_s, begin_s + duration_s};
        split(gap, taken);
        return taken;
    }

    /// Back to what `fresh`, made from the same obstacles, was when no task was placed.
    void restart(const Gaps& fresh) {
        gaps_.assign(fresh.gaps_.begin(), fresh.gaps_.end());
        steps_ = 0;
    }
    /// What placing has cost since the last restart, in places looked at and taken.
    std::uint64_t steps() const { return steps_; }
    /// What is idle now, but for gaps too short for any task; the last one never ends.
    std::span<const Interval> idle() const { return gaps_; }

  private:
    // Keep what lies before and after the task where another task may fit. Where the task starts
    // with the gap, the point before it is kept too if tasks of zero length are about, unless the
    // task is such a point itself: then the gap stays as it is.
    void split(std::vector<Interval>::iterator gap, const Interval& taken) {
        if (gap->begin_s == taken.end_s) return;
        const bool before = taken.begin_s - gap->begin_s >= least_s_;
        const bool after = gap->end_s - taken.end_s >= least_s_;
        const Interval left{gap->begin_s, taken.begin_s};
        gap->begin_s = taken.end_s;
        if (before && after)
            gaps_.insert(gap, left);
        else if (before)
            *gap = left;
        else if (!after)
            gaps_.erase(gap);
    }

    std::vector<Interval> gaps_;  // sorted, disjoint but for common ends, the last one endless
    double least_s_;
    std::uint64_t steps_ = 0;
};

/// Are durations and obstacles what schedule() and check() can work with? O(n).
/// Errors: invalid_argument, naming lane, index and value.
Status validate(std::span<const Job> jobs, const Obstacles& obstacles);

}  // namespace caesura::plan
