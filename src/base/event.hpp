// A signal between threads without a lock: raise() never waits, and a waiter that misses nothing.
//
// Why not a condition variable: its mutex could be held by an idle-priority thread that gets no
// time, and the application would wait for it (decision D5). Why not std::atomic::wait: it has no
// timeout, and the write lane waits for "an event or the end of the next obstacle".
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cmath>
#include <cstdint>
#include <ctime>

namespace caesura::base {

class Event {
  public:
    /// @param between_processes  it lies in memory that several processes share.
    explicit Event(bool between_processes = false)
        : flag_(between_processes ? 0 : FUTEX_PRIVATE_FLAG) {}

    /// Read before looking at the state one waits for; pass to wait().
    std::uint32_t count() const { return count_.load(std::memory_order_acquire); }

    void raise() {
        count_.fetch_add(1, std::memory_order_acq_rel);
        futex(FUTEX_WAKE, INT_MAX, nullptr);
    }

    /// Return when raised since `seen`, after `timeout_s`, or for no reason: look again.
    void wait(std::uint32_t seen, double timeout_s = k_forever_s) {
        if (timeout_s <= 0.0) return;
        if (timeout_s >= k_forever_s) {
            futex(FUTEX_WAIT, seen, nullptr);
            return;
        }
        timespec timeout{};
        timeout.tv_sec = static_cast<time_t>(timeout_s);
        timeout.tv_nsec = static_cast<long>((timeout_s - std::floor(timeout_s)) * 1e9);
        futex(FUTEX_WAIT, seen, &timeout);
    }

    static constexpr double k_forever_s = 1e9;

  private:
    void futex(int operation, std::uint32_t value, const timespec* timeout) {
        static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&count_), operation | flag_, value,
                  timeout, nullptr, 0);
    }

    std::atomic<std::uint32_t> count_{0};
    int flag_;
};

}  // namespace caesura::base
