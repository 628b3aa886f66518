// A service that is away: since when this process knows, and when it is to be looked for again.
//
// Invariants:
//  - Where it stays away it is looked for after 1 s, then after twice as long each time, and at
//    least once a minute. So a program pays little, however long that lasts.
//  - One that is lost again soon after it was found counts as one that stayed away.
//  - Any thread. All Transports of a process to one service share it, so that a program that makes
//    a Writer for each file does not begin anew with each.
#pragma once

#include <algorithm>
#include <mutex>

#include "caesura/base.hpp"

namespace caesura::transit {

class Absence {
  public:
    static constexpr double k_first_s = 1.0, k_longest_s = 60.0;

    /// Was it lost, and not found again since?
    bool is_known() const {
        const std::lock_guard lock(mutex_);
        return known_;
    }
    void lost(const Status& why, double now_s) {
        const std::lock_guard lock(mutex_);
        if (known_) return;
        known_ = true;
        why_ = why;
        if (now_s - found_s_ <= k_longest_s) return postpone(now_s);
        wait_s_ = k_first_s;
        next_s_ = now_s;
    }
    /// Is it time? Then it is the caller who looks. At once if another one has found it.
    bool may_look(double now_s) {
        const std::lock_guard lock(mutex_);
        if (!known_) return true;
        if (now_s < next_s_) return false;
        postpone(now_s);
        return true;
    }
    void found(double now_s) {
        const std::lock_guard lock(mutex_);
        known_ = false;
        found_s_ = now_s;
    }
    Status why() const {
        const std::lock_guard lock(mutex_);
        return why_;
    }

  private:
    void postpone(double now_s) {
        next_s_ = now_s + wait_s_;
        wait_s_ = std::min(2.0 * wait_s_, k_longest_s);
    }

    mutable std::mutex mutex_;
    bool known_ = false;
    Status why_;
    double next_s_ = 0.0, wait_s_ = k_first_s, found_s_ = -2.0 * k_longest_s;
};

}  // namespace caesura::transit
