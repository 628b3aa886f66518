// The free time that a lane has before the application's next obstacle.
#pragma once

#include <limits>
#include <span>

#include "plan/schedule.hpp"

namespace caesura::plan {

struct Gap {
    double free_s = std::numeric_limits<double>::infinity();  ///< < 0: the obstacle should be on
    double resume_s = -1.0;                                   ///< when that obstacle has ended
};

/// The time before the next of the `obstacles`, which are sorted and on the clock of `now_s`. One
/// that should be on counts until its expected end: it comes late or has ended early.
inline Gap gap_before_next(std::span<const Interval> obstacles, double now_s) {
    for (const Interval& obstacle : obstacles)
        if (obstacle.end_s > now_s) return {obstacle.begin_s - now_s, obstacle.end_s};
    return {};
}

}  // namespace caesura::plan
