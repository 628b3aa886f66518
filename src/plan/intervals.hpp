// The time that is left in one lane, and where the next task goes in it.
//
// Invariants:
//  - All comparisons are exact: a task occupies [begin, begin + duration) with that very sum, here
//    and in check.cpp, so that check() accepts what schedule() produced without a tolerance.
//  - An interval of zero length excludes nothing when it is an obstacle. A task of zero length
//    takes a point that lies strictly inside no other task and no obstacle; both ends are allowed.
#pragma once

#include <algorithm>
#include <limits>

#include "caesura/plan.hpp"

namespace caesura::plan {

/// Does `interval` hold no time? An obstacle like this excludes nothing.
inline bool is_empty(const Interval& interval) { return !(interval.begin_s < interval.end_s); }

/// Places each task after all tasks placed before it, around the obstacles.
/// n tasks and k obstacles cost O(n + k) together: the frontier only moves forward.
class Frontier {
  public:
    /// @param obstacles  sorted and disjoint; must outlive this object.
    explicit Frontier(std::span<const Interval> obstacles) : obstacles_(obstacles) {}

    /// Take the earliest place at or after `ready_s`; returns its begin in s.
    double place(double ready_s, double duration_s) {
        double begin_s = std::max(frontier_s_, ready_s);
        for (; next_ < obstacles_.size(); ++next_) {
            const Interval& obstacle = obstacles_[next_];
            if (is_empty(obstacle) || obstacle.end_s <= begin_s) continue;
            if (begin_s + duration_s <= obstacle.begin_s) break;
            begin_s = obstacle.end_s;
        }
        frontier_s_ = begin_s + duration_s;
        return begin_s;
    }

  private:
    std::span<const Interval> obstacles_;
    std::size_t next_ = 0;  // the obstacles before it end at or before the frontier
    double frontier_s_ = 0.0;
};

/// Places each task in the earliest idle interval that holds it; placed tasks never move.
///
/// A sorted vector, searched from the first gap that ends after `ready_s`: with the tens to
/// thousands of tasks of a dump it beats a tree. Gaps of zero length stay in it, because a task
/// of zero length may lie on the boundary of two neighbours.
class Gaps {
  public:
    /// @param obstacles  sorted and disjoint.
    /// @param n_tasks    how many tasks will be placed (capacity only).
    Gaps(std::span<const Interval> obstacles, std::size_t n_tasks) {
        gaps_.reserve(obstacles.size() + n_tasks + 1);
        double idle_since_s = 0.0;
        for (const Interval& obstacle : obstacles) {
            if (is_empty(obstacle) || obstacle.end_s <= 0.0) continue;
            if (obstacle.begin_s >= idle_since_s) gaps_.push_back({idle_since_s, obstacle.begin_s});
            idle_since_s = obstacle.end_s;
        }
        gaps_.push_back({idle_since_s, std::numeric_limits<double>::infinity()});
    }

    /// Take the earliest place at or after `ready_s`; returns its begin in s.
    double place(double ready_s, double duration_s) {
        const auto ends_before = [](const Interval& gap, double time_s) {
            return gap.end_s < time_s;
        };
        auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), ready_s, ends_before);
        double begin_s = std::max(gap->begin_s, ready_s);
        while (!(begin_s + duration_s <= gap->end_s)) {  // the last gap never ends
            ++gap;
            begin_s = std::max(gap->begin_s, ready_s);
        }
        split(gap, begin_s, begin_s + duration_s);
        return begin_s;
    }

  private:
    // Keep what lies before and after the task. Where the task starts with the gap, the point
    // before it is kept too (it may hold another task of zero length), unless the task is such a
    // point itself: then the gap stays as it is.
    void split(std::vector<Interval>::iterator gap, double begin_s, double end_s) {
        if (gap->begin_s == end_s) return;
        const double gap_begin_s = gap->begin_s;
        gap->begin_s = end_s;
        gaps_.insert(gap, {gap_begin_s, begin_s});
    }

    std::vector<Interval> gaps_;  // sorted, disjoint but for common ends, the last one endless
};

/// Are durations and obstacles what schedule() and check() can work with? O(n).
/// Errors: invalid_argument, naming lane, index and value.
Status validate(std::span<const Job> jobs, const Obstacles& obstacles);

}  // namespace caesura::plan
