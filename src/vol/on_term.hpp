// SIGTERM with `on_term = "commit"`: what is in flight is written at once, and the process ends
// when all of it is committed or the time is up; before, closing line and report say what was not.
// docs/reference/connector.md says it to users.
//
// Invariants:
//  - The handler writes to an eventfd and calls the handler that was there before; nothing else.
//  - The thread that reads it calls neither MPI nor HDF5: what is written and not committed is for
//    the application's next call, or for `recover`.
//  - What it says it says from a thread of its own, for which it does not wait for ever: stderr and
//    the report's file may be where nothing can be written.
//  - Where the application has a handler of its own the end of the process is its own, too.
#pragma once

#include "vol/config.hpp"

namespace caesura::vol {

/// When a file is captured; does something once a process, if the configuration asks for it.
void watch_term(const Config& config);

}  // namespace caesura::vol
