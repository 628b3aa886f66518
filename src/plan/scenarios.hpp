// Worlds that may come, drawn from the spreads of durations and obstacles, and plans for them.
//
// Invariants:
//  - The same random numbers give the same worlds.
#pragma once

#include "plan/packing.hpp"

namespace caesura::plan {

struct Scenario {
    std::vector<Job> jobs;
    Obstacles obstacles;
};

/// Every duration and every begin and end of an obstacle drawn on its own from a normal
/// distribution around what is expected; obstacles keep their order and never overlap.
/// Source: S0 §5.4.1. Differs: a duration is at least a tenth of what is expected.
Scenario draw_scenario(std::span<const Job> jobs, const Obstacles& obstacles, Random& random);

bool has_spread(std::span<const Job> jobs, const Obstacles& obstacles);

/// How much of a change in how late an obstacle comes the expected ones after it are moved by. All
/// of it: an application that is late stays late. Less is worse where lateness adds up; some of it
/// is worse than none or all where every obstacle is off by itself (lateness_bench.cpp).
inline constexpr double k_follow = 1.0;

/// execute() of what has been checked. @param follow  another share than k_follow, for comparison.
Execution run_orders(const Orders& orders, std::span<const Job> expected,
                     const Obstacles& expected_obstacles, std::span<const Job> real,
                     const Obstacles& real_obstacles, bool resumable, double follow = k_follow);

/// Algorithm::search with Rules::robust; see robust.cpp.
Schedule robust_schedule(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules);

}  // namespace caesura::plan
