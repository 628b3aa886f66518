// Time: one monotonic clock for plans, traces and measurements; tests bring their own.
#pragma once

#include <atomic>
#include <chrono>

namespace caesura::base {

class Clock {
  public:
    virtual ~Clock() = default;
    /// Seconds since an arbitrary but, on one node, common origin (CLOCK_MONOTONIC).
    virtual double now_s() const = 0;

    static const Clock& steady() {
        struct Steady final : Clock {
            double now_s() const override {
                return std::chrono::duration<double>(
                           std::chrono::steady_clock::now().time_since_epoch())
                    .count();
            }
        };
        static const Steady clock;
        return clock;
    }
};

/// A clock that moves when told to: what a test says is the time.
class VirtualClock final : public Clock {
  public:
    double now_s() const override { return now_s_.load(); }
    void set(double now_s) { now_s_.store(now_s); }

  private:
    std::atomic<double> now_s_{0.0};
};

}  // namespace caesura::base
