// What workers achieve beside the application, learnt for the planner: their share of a core while
// the application leaves it free and while it computes, and how far times are off.
//
// Invariants:
//  - Rough: numbers are learnt without a lock, and a lost update is nothing.
//  - begin_busy() and end_busy() are the application's thread's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>

#include "plan/dump_plan.hpp"

namespace caesura::run {

class WorkerPace {
  public:
    /// Shares of a core that one worker gets: while the application leaves it free, and in its
    /// compress obstacles.
    double rate_free() const { return rate_free_.load(std::memory_order_relaxed); }
    double rate_busy() const { return rate_busy_.load(std::memory_order_relaxed); }
    /// Root mean squares of what compressions and writes took beyond what was expected, relative.
    double compress_off() const { return std::sqrt(compress_.load(std::memory_order_relaxed)); }
    double write_off() const { return std::sqrt(write_.load(std::memory_order_relaxed)); }
    /// CPU time that workers took in compress obstacles. The application's thread.
    double interference_s() const { return interference_s_; }

    void learn_compress(double took_s, double expected_s) { learn(compress_, took_s, expected_s); }
    void learn_write(double took_s, double expected_s) { learn(write_, took_s, expected_s); }
    /// After a job of a worker: how much it got of the time that the application left free.
    void learn_rate(double free_s, double cpu_s) {
        constexpr double k_new = 0.25;                        // weight of one job
        if (!(cpu_s > 0.0) || free_s < 0.25 * cpu_s) return;  // it ran on a core of its own
        const double rate = std::clamp(cpu_s / free_s, 0.05, 1.0);
        rate_free_.store((1.0 - k_new) * rate_free() + k_new * rate, std::memory_order_relaxed);
    }
    /// One worker had work for all of so much free time, and got this: what single jobs have said
    /// before counts no more.
    void starved(double free_s, double cpu_s) {
        rate_free_.store(std::clamp(cpu_s / free_s, 1e-3, 1.0), std::memory_order_relaxed);
    }

    /// A compress obstacle begins in which workers could disturb.
    void begin_busy(double now_s, double workers_cpu_s) {
        begin_s_ = now_s;
        begin_cpu_s_ = workers_cpu_s;
    }
    void begin_idle() { begin_s_ = -1.0; }
    bool is_busy() const { return begin_s_ >= 0.0; }
    /// It ends. @param workers  that had something left to begin; 0: idle ones prove nothing.
    void end_busy(double now_s, double workers_cpu_s, std::size_t workers) {
        constexpr double k_old = 0.9;  // weight of earlier obstacles at each new one
        const double cpu_s = std::max(0.0, workers_cpu_s - begin_cpu_s_);
        interference_s_ += cpu_s;
        if (workers == 0) return;
        busy_cpu_s_ = k_old * busy_cpu_s_ + cpu_s;
        busy_wall_s_ = k_old * busy_wall_s_ + now_s - begin_s_;
        if (busy_wall_s_ > 0.0)
            rate_busy_.store(busy_cpu_s_ / busy_wall_s_ / static_cast<double>(workers),
                             std::memory_order_relaxed);
    }

  private:
    static void learn(std::atomic<double>& square, double took_s, double expected_s) {
        square.store(plan::square_after(square.load(std::memory_order_relaxed), took_s, expected_s),
                     std::memory_order_relaxed);
    }
    std::atomic<double> rate_free_{1.0}, rate_busy_{0.0};
    std::atomic<double> compress_{0.0}, write_{0.0};  // mean squares
    double interference_s_ = 0.0;
    double begin_s_ = -1.0, begin_cpu_s_ = 0.0;
    double busy_cpu_s_ = 0.0, busy_wall_s_ = 0.0;
};

}  // namespace caesura::run
