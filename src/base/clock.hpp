// Time: one monotonic clock for plans, traces and measurements; tests bring their own.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

namespace caesura::base {

class Clock {
  public:
    virtual ~Clock() = default;
    /// Seconds since an arbitrary but, on one node, common origin (CLOCK_MONOTONIC).
    virtual double now_s() const = 0;
    /// Seconds of CPU time that the calling thread has taken.
    virtual double thread_cpu_s() const = 0;

    static const Clock& steady() {
        struct Steady final : Clock {
            double now_s() const override {
                return std::chrono::duration<double>(
                           std::chrono::steady_clock::now().time_since_epoch())
                    .count();
            }
            double thread_cpu_s() const override {
                timespec time{};
                ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
                return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
            }
        };
        // Never destroyed: threads of a library may look at it while the program ends.
        static const Steady* const clock = new Steady;
        return *clock;
    }
};

/// A clock that moves when told to: what a test says is the time.
class VirtualClock final : public Clock {
  public:
    double now_s() const override { return now_s_.load(); }
    /// Whoever asks has been at it all the time.
    double thread_cpu_s() const override { return now_s(); }
    void set(double now_s) { now_s_.store(now_s); }

  private:
    std::atomic<double> now_s_{0.0};
};

}  // namespace caesura::base
