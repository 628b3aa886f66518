// The first error of several threads: kept, read without a lock, never replaced.
#pragma once

#include <atomic>

#include "caesura/base.hpp"

namespace caesura::run {

class FirstError {
  public:
    /// Any thread. Errors after the first are dropped.
    void keep(Status status) {
        int none = k_none;
        if (!state_.compare_exchange_strong(none, k_being_kept, std::memory_order_acq_rel)) return;
        status_ = std::move(status);
        state_.store(k_kept, std::memory_order_release);
    }
    /// Has an error happened? Not before status() tells it: who sees it asks for its words.
    bool happened() const { return state_.load(std::memory_order_acquire) == k_kept; }
    /// The error; ok if there is none.
    Status status() const { return happened() ? status_ : Status(); }

  private:
    static constexpr int k_none = 0, k_being_kept = 1, k_kept = 2;
    std::atomic<int> state_{k_none};
    Status status_;
};

}  // namespace caesura::run
