#include "run/priority.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace caesura::run {
namespace {

// What the kernel asks of a thread that wants to leave SCHED_IDLE for nice 0; a capability without
// being root counts as no: the answer is then only too careful.
bool may_leave_idle() {
    constexpr rlim_t k_nice_0 = 20;  // RLIMIT_NICE counts from nice 20 downwards
    rlimit limit{};
    return ::geteuid() == 0 ||
           (::getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur >= k_nice_0);
}

}  // namespace

void lower_priority_of_this_thread() {
    const sched_param parameter{};
    if (may_leave_idle() && ::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &parameter) == 0)
        return;
    const auto thread_id = static_cast<id_t>(::syscall(SYS_gettid));
    (void)::setpriority(PRIO_PROCESS, thread_id, 19);  // lowering is always allowed
}

bool restore_priority(pthread_t thread) {
    const sched_param parameter{};
    return ::pthread_setschedparam(thread, SCHED_OTHER, &parameter) == 0;
}

}  // namespace caesura::run
