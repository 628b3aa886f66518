// What a lane knows about the application: the obstacles of the last iteration, how late those of
// this one come, and whether one is on.
//
// Invariants:
//  - The k-th obstacle expected is the k-th that comes, and is as late as the last one that came;
//    if it has not come by its expected end it is forgotten: plan::execute() and the Writer's lanes
//    do the same.
#pragma once

#include "plan/gap.hpp"

namespace caesura::simulate {

class Expected {
  public:
    /// From `now_s` on the obstacles seen since the last call are expected again.
    void begin_iteration(double now_s) {
        expected_.swap(seen_);
        seen_.clear();
        begin_s_ = now_s;
        late_s_ = 0.0;
        next_ = 0;
    }
    void enter(double now_s) {
        if (next_ < expected_.size()) late_s_ = now_s - begin_s_ - expected_[next_].begin_s;
        on_ = true;
        seen_.push_back({now_s - begin_s_, 0.0});
    }
    void leave(double now_s) {
        on_ = false;
        seen_.back().end_s = now_s - begin_s_;
        if (seen_.back().end_s > seen_.back().begin_s)
            ++next_;
        else
            seen_.pop_back();  // no time passed: not an obstacle
    }
    bool on() const { return on_; }
    /// Since the begin of the iteration.
    const std::vector<plan::Interval>& obstacles() const { return expected_; }

    /// The time that is left before the next obstacle, seen from `now_s`.
    plan::Gap gap(double now_s) const {
        const double shift_s = begin_s_ + late_s_;
        for (std::size_t k = next_; k < expected_.size(); ++k) {
            if (expected_[k].end_s + shift_s <= now_s) continue;
            const double free_s = expected_[k].begin_s + shift_s - now_s;
            return {free_s > 0.0 ? free_s : 0.0, expected_[k].end_s + shift_s};
        }
        return {};
    }

  private:
    std::vector<plan::Interval> expected_, seen_;
    double begin_s_ = 0.0, late_s_ = 0.0;
    std::size_t next_ = 0;  // the obstacle that is on or comes next
    bool on_ = false;
};

}  // namespace caesura::simulate
