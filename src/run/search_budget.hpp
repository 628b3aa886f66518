// How much a search for a plan may do: some 20 ms of this machine's core, whatever that holds.
//
// The search counts steps, not time, so that a plan can be made again. How long a step takes is
// seen from search to search.
//
// Invariants:
//  - The first search gets a quarter: on a core half as fast it stays within the time.
//  - A search that ended early says that the core is not slow, no more: a budget at most doubles
//    twice, and never exceeds what the machine of the measured speed does in the time.
//  - Rough: learnt without a lock, and a lost update is nothing.
#pragma once

#include <algorithm>
#include <atomic>

#include "plan/schedule.hpp"

namespace caesura::run {

class SearchBudget {
  public:
    static constexpr double k_search_s = 0.020;
    static constexpr std::uint64_t k_most_steps = 20 * plan::k_search_steps_per_ms;
    static constexpr std::uint64_t k_least_steps = k_most_steps / 64;

    std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
    /// A search that was allowed so many steps took this CPU time.
    void learn(std::uint64_t steps, double cpu_s) {
        if (!(cpu_s > 0.0)) return;
        const double factor = std::clamp(k_search_s / cpu_s, 1.0 / 16.0, 4.0);
        const auto next = static_cast<std::uint64_t>(static_cast<double>(steps) * factor);
        steps_.store(std::clamp(next, k_least_steps, k_most_steps), std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> steps_{k_most_steps / 4};
};

}  // namespace caesura::run
