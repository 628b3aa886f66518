#include "held_worker.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

enum State : int { k_off, k_waiting, k_held };
std::atomic<int> state{k_off};

void hold_here() {
    int expected = k_waiting;
    if (sched_getscheduler(0) != SCHED_IDLE || !state.compare_exchange_strong(expected, k_held))
        return;
    state.notify_all();
    state.wait(k_held);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    if (clock == CLOCK_THREAD_CPUTIME_ID && state == k_waiting) hold_here();
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

namespace caesura::testing {

HeldWorker::HeldWorker() { state = k_waiting; }

void HeldWorker::wait_until_held() { state.wait(k_waiting); }

void HeldWorker::let_go() {
    state = k_off;
    state.notify_all();
}

}  // namespace caesura::testing
