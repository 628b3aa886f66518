// Worker threads that the application does not feel.
#pragma once

#include <pthread.h>

namespace caesura::run {

/// Put the calling thread below everything else: SCHED_IDLE, or nice 19 where the thread could not
/// leave SCHED_IDLE again (without privileges). Measured (decision D5): a worker at normal priority
/// costs the application 40 %, at either of these nothing measurable. But whoever joins a thread
/// waits for the job it is in, and beside a process that never waits SCHED_IDLE leaves it 3/1024 of
/// the core, nice 19 15/1024.
void lower_priority_of_this_thread();

/// Try to bring `thread` back to normal priority, so that joining it does not take for ever on a
/// busy core. False where the system does not allow it (RLIMIT_NICE).
bool restore_priority(pthread_t thread);

}  // namespace caesura::run
