// The plans of one dump: the caller's seed, what a worker made of it, and what was planned anew
// when reality departed from it.
//
// Invariants:
//  - A plan is written by one thread, published by one store and constant from then on, but for its
//    counter: whoever follows the current one needs no lock.
//  - All memory is taken and given back on the application's thread (allocate(), destructor).
//  - A dump gets at most k_plans plans: a world that never does as planned costs bounded time.
#pragma once

#include <array>
#include <atomic>

#include "plan/dump_plan.hpp"

namespace caesura::run {

using plan::TaskTimes;

/// A plan that is being followed.
struct Plan : plan::DumpPlan {
    std::atomic<std::uint32_t> next_compress{0};  ///< how far down compress_order the workers are
    bool again = false;  ///< made because reality had departed from the one before
};

class Plans {
  public:
    static constexpr std::size_t k_plans = 8;

    void allocate(std::size_t n_jobs) {
        for (Plan& plan : plans_) plan.resize(n_jobs);
    }
    /// Without planning, and for what needs no plan.
    bool empty() const { return plans_[0].times.empty(); }
    Plan& operator[](std::size_t i) { return plans_[i]; }
    Plan& current() { return plans_[current_.load(std::memory_order_acquire)]; }
    std::size_t count() const { return current_.load(std::memory_order_acquire) + 1; }
    /// What was planned before anything could depart from it, with the time that took.
    const Plan& first_whole() const {
        return count() > 1 && !plans_[1].again ? plans_[1] : plans_[0];
    }

    /// Another plan is wanted. Any thread.
    void want() { wanted_.store(true, std::memory_order_release); }
    bool wanted() const { return wanted_.load(std::memory_order_acquire); }
    /// The next plan, for the caller alone to fill; nullptr if none is wanted or left, or another
    /// thread is at it. To be followed by publish() or abandon().
    Plan* begin() {
        if (!wanted() || planning_.exchange(true, std::memory_order_acq_rel)) return nullptr;
        wanted_.store(false, std::memory_order_release);
        if (count() < k_plans) return &plans_[count()];
        planning_.store(false, std::memory_order_release);
        return nullptr;
    }
    void publish() {
        current_.fetch_add(1, std::memory_order_acq_rel);
        planning_.store(false, std::memory_order_release);
    }
    void abandon() { planning_.store(false, std::memory_order_release); }

  private:
    std::array<Plan, k_plans> plans_;
    std::atomic<std::size_t> current_{0};
    std::atomic<bool> wanted_{false}, planning_{false};
};

}  // namespace caesura::run
