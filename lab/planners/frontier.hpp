// A lane that leaves gaps as they are.
#pragma once

#include "plan/lanes.hpp"

namespace caesura::lab {

/// Places each task after all tasks placed before it, around the obstacles.
/// n tasks and k obstacles cost O(n + k) together: the frontier only moves forward.
class Frontier {
  public:
    /// @param obstacles  sorted and disjoint; must outlive this object.
    explicit Frontier(std::span<const plan::Interval> obstacles) : obstacles_(obstacles) {}

    /// Take the earliest place at or after `ready_s`.
    plan::Interval place(double ready_s, double duration_s) {
        const double begin_s =
            plan::clear_s(obstacles_, next_, std::max(frontier_s_, ready_s), duration_s);
        frontier_s_ = begin_s + duration_s;
        return {begin_s, frontier_s_};
    }

  private:
    std::span<const plan::Interval> obstacles_;
    std::size_t next_ = 0;  // the obstacles before it end at or before the frontier
    double frontier_s_ = 0.0;
};

}  // namespace caesura::lab
