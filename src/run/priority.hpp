// Worker threads that the application does not feel.
#pragma once

#include <pthread.h>

namespace caesura::run {

/// Put the calling thread below everything else: SCHED_IDLE, or nice 19 where that is refused.
/// Measured (design D5): a worker at normal priority costs the application 40 %, at idle priority
/// nothing measurable. An unprivileged thread cannot leave SCHED_IDLE again.
void lower_priority_of_this_thread();

/// Try to bring `thread` back to normal priority, so that joining it does not take for ever on a
/// busy core. False where the system does not allow it (RLIMIT_NICE).
bool restore_priority(pthread_t thread);

}  // namespace caesura::run
