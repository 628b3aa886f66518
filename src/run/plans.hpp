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
#include <cstdint>
#include <vector>

namespace caesura::run {

/// When a job's tasks run, seconds of the clock.
struct TaskTimes {
    double compress_begin_s = 0.0, compress_end_s = 0.0;
    double write_begin_s = 0.0, write_end_s = 0.0;
    bool planned = false;  ///< false: it was done when the plan was made
};

struct Plan {
    std::vector<std::uint32_t> compress_order, write_order;  ///< [n_jobs] job indices
    std::vector<TaskTimes> times;                            ///< [n_jobs]
    double made_s = 0.0;                          ///< by the clock; nothing is planned before it
    double end_s = 0.0;                           ///< by the clock, of the last write
    double iteration_begin_s = 0.0;               ///< of the iteration it is made for
    double iteration_s = 0.0;                     ///< its expected length; 0: nothing known
    std::uint64_t kind = 0;                       ///< Expectation::kind it was made for
    double slip_s = 0.0;                          ///< Expectation::slip_s it was made for
    std::atomic<std::uint32_t> next_compress{0};  ///< how far down compress_order the workers are
};

class Plans {
  public:
    static constexpr std::size_t k_plans = 8;

    void allocate(std::size_t n_jobs) {
        for (Plan& plan : plans_) {
            plan.compress_order.resize(n_jobs);
            plan.write_order.resize(n_jobs);
            plan.times.resize(n_jobs);
        }
    }
    /// Without planning, and for what needs no plan.
    bool empty() const { return plans_[0].times.empty(); }
    Plan& operator[](std::size_t i) { return plans_[i]; }
    Plan& current() { return plans_[current_.load(std::memory_order_acquire)]; }
    std::size_t count() const { return current_.load(std::memory_order_acquire) + 1; }

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
