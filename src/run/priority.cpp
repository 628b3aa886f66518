#include "run/priority.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace caesura::run {

void lower_priority_of_this_thread() {
    const sched_param parameter{};
    if (::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &parameter) == 0) return;
    const auto thread_id = static_cast<id_t>(::syscall(SYS_gettid));
    (void)::setpriority(PRIO_PROCESS, thread_id, 19);  // lowering is always allowed
}

bool restore_priority(pthread_t thread) {
    const sched_param parameter{};
    return ::pthread_setschedparam(thread, SCHED_OTHER, &parameter) == 0;
}

}  // namespace caesura::run
