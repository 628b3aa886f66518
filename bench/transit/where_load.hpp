// Load on the cores: processes that compute digits of pi by the formula of Bailey, Borwein and
// Plouffe, as S4's kernel, for a stated share of the time; and what the system says of the load.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.hpp"

namespace caesura::transit::bench {

inline double now_s() { return base::Clock::steady().now_s(); }
inline void sleep_s(double seconds) {
    ::usleep(static_cast<useconds_t>(std::max(0.0, seconds) * 1e6));
}

/// 16^n modulo k, and so the n-th hexadecimal digit of pi (Bailey, Borwein and Plouffe 1997).
inline double power_modulo(long n, long k) {
    long result = 1, base = 16 % k;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) result = result * base % k;
        base = base * base % k;
    }
    return static_cast<double>(result % k);
}
inline double series(long m, long digit) {
    double sum = 0.0;
    for (long k = 0; k < digit; ++k) {
        const long divisor = 8 * k + m;
        sum += power_modulo(digit - k, divisor) / static_cast<double>(divisor);
        sum -= std::floor(sum);
    }
    return sum;
}
inline int digit_of_pi(long n) {
    double x = 4 * series(1, n) - 2 * series(4, n) - series(5, n) - series(6, n);
    x -= std::floor(x);
    return static_cast<int>(16 * x);
}

/// Shared with the processes that make the load.
struct Load {
    std::atomic<double> share{0.0};  ///< of the time, of each process
    std::atomic<bool> over{false};
};

/// Digits 0 to `digits` of pi on each of two cores, every second one.
class PiApplication {
  public:
    explicit PiApplication(int digits) {
        for (std::size_t i = 0; i < 2; ++i) {
            processes_[i] = ::fork();
            if (processes_[i] != 0) continue;
            for (int digit = static_cast<int>(i); digit < digits; digit += 2) {
                volatile int found = digit_of_pi(digit);
                (void)found;
            }
            ::_exit(0);
        }
    }
    ~PiApplication() { wait(); }
    void wait() {
        for (pid_t& process : processes_)
            if (process > 0) ::waitpid(std::exchange(process, 0), nullptr, 0);
    }

  private:
    std::array<pid_t, 2> processes_{};
};

/// Two processes on each of two cores.
class LoadProcesses {
  public:
    LoadProcesses() {
        void* const memory = ::mmap(nullptr, sizeof(Load), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        load_ = new (memory) Load();
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            processes_[i] = ::fork();
            if (processes_[i] == 0) run(i % 2);
        }
    }
    ~LoadProcesses() {
        load_->over = true;
        for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
    }
    /// @param share  of the time, of each process.
    void set(double share) { load_->share = share; }

  private:
    [[noreturn]] void run(std::size_t core) {
        constexpr double k_turn_s = 0.004;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        (void)::sched_setaffinity(0, sizeof one, &one);
        const pid_t parent = ::getppid();
        while (!load_->over && ::getppid() == parent) {
            const double begin_s = now_s(), share = load_->share;
            // Of its own time, so that what it wants does not shrink when others have the core.
            const double cpu_s = base::Clock::steady().thread_cpu_s() + share * k_turn_s;
            while (base::Clock::steady().thread_cpu_s() < cpu_s) {
                volatile int digit = digit_of_pi(100);
                (void)digit;
            }
            if (share < 1.0) sleep_s(k_turn_s - (now_s() - begin_s));
        }
        ::_exit(0);
    }
    Load* load_ = nullptr;
    std::array<pid_t, 4> processes_{};
};

/// What the system says of the load, as means of the last 100 ms: runnable threads beside our own
/// reader, and the share of the time in which some thread waited for a core (PSI).
class LoadSampler {
  public:
    LoadSampler() : thread_([this] { loop(); }) {}
    ~LoadSampler() {
        over_ = true;
        thread_.join();
    }
    struct Seen {
        double runnable = 0.0, waiting_share = 0.0;
    };
    Seen seen() {
        const std::lock_guard lock(mutex_);
        Seen mean;
        if (last_.size() < 2) return mean;
        for (const Sample& one : last_)
            mean.runnable += one.runnable / static_cast<double>(last_.size());
        mean.waiting_share = (last_.back().waited_s - last_.front().waited_s) /
                             std::max(1e-3, last_.back().at_s - last_.front().at_s);
        return mean;
    }

  private:
    struct Sample {
        double at_s, runnable, waited_s;
    };
    static Sample read() {
        Sample sample{now_s(), 0.0, 0.0};
        std::string word;
        std::ifstream load("/proc/loadavg");
        for (int i = 0; i < 4; ++i) load >> word;
        sample.runnable = std::max(0.0, std::atof(word.c_str()) - 1.0);  // this thread
        std::ifstream pressure("/proc/pressure/cpu");
        while (pressure >> word)
            if (word.starts_with("total=")) {
                sample.waited_s = 1e-6 * std::atof(word.c_str() + 6);
                break;
            }
        return sample;
    }
    void loop() {
        constexpr double k_window_s = 0.1, k_period_s = 0.003;
        while (!over_) {
            const Sample sample = read();
            {
                const std::lock_guard lock(mutex_);
                last_.push_back(sample);
                while (last_.front().at_s < sample.at_s - k_window_s) last_.pop_front();
            }
            sleep_s(k_period_s);
        }
    }
    std::mutex mutex_;
    std::deque<Sample> last_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace caesura::transit::bench
