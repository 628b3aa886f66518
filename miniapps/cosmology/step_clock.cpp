// Clocks and real idling; see step_clock.hpp.

#include "step_clock.hpp"

#include <cerrno>
#include <cmath>
#include <ctime>

namespace cosmology {

namespace {

double read_s(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double StepClock::wall_s() { return read_s(CLOCK_MONOTONIC); }
double StepClock::thread_cpu_s() { return read_s(CLOCK_THREAD_CPUTIME_ID); }

void StepClock::idle(const char* name, double seconds) {
    if (seconds <= 0.0) return;
    const double begin = wall_s(), deadline = begin + seconds;
    timespec until{};
    until.tv_sec = static_cast<time_t>(std::floor(deadline));
    until.tv_nsec = static_cast<long>((deadline - std::floor(deadline)) * 1e9);
    marks_.waits(seconds);
    // An absolute deadline: a signal or a late wake-up does not lengthen the next try.
    marks_.sleep([&until] {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        }
    });
    phases_[name].time.idle_s += wall_s() - begin;
}

PhaseTime StepClock::total(Resource needs) const {
    PhaseTime sum;
    for (const auto& [name, phase] : phases_) {
        sum.idle_s += phase.time.idle_s;
        if (phase.needs != needs) continue;
        sum.wall_s += phase.time.wall_s;
        sum.cpu_s += phase.time.cpu_s;
        sum.calls += phase.time.calls;
    }
    return sum;
}

}  // namespace cosmology
