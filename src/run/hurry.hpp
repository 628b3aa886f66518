// All executors of this process that have a standby thread, for whoever learns that the process is
// about to end: what is in flight is due at once, and so is what comes later.
//
// Invariant: a lock stands between the application's thread, which makes and ends executors, and
// the caller, who must not be at idle priority (decision D22) nor in a signal handler.
#pragma once

namespace caesura::run {

class Executor;

/// Executor's own: from its beginning to its end.
void enlist(Executor& executor);
void delist(Executor& executor);

/// Any thread.
void hurry_all();
/// Has every one of them written what was handed over, or failed? Any thread.
bool all_have_written();

}  // namespace caesura::run
