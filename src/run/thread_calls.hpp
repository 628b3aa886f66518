// What tools say about a thread (caesura_observe_enter in caesura.h, the MPI layer, wait.hpp)
// reaches the writers whose iteration that thread runs.
//
// Invariants:
//  - enter() and leave() take no lock, allocate nothing and touch no writer of another thread: they
//    are called around every MPI call.
//  - A listener is found in a fixed table. Its slot is pinned for the few instructions that a call
//    takes, and whoever empties the slot waits for that: a writer may move to another thread.
//  - Calls inside an Unobserved scope are ours, not the application's, and say nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "run/call_stretches.hpp"

namespace caesura::run {

class Executor;

namespace observation {

void enter(Doing doing);
void leave(Doing doing);
/// Has anybody ever said anything, or is a layer loaded that would? Without one the time between
/// marks is unknown, not computing.
bool anybody_watches();

}  // namespace observation

/// While one lives, the calling thread's doings are ours.
class Unobserved {
  public:
    Unobserved();
    ~Unobserved();
    Unobserved(const Unobserved&) = delete;
    Unobserved& operator=(const Unobserved&) = delete;
};

/// A writer's place in the table.
class Listener {
  public:
    /// Lets a layer that was loaded before us know where enter() and leave() are.
    Listener();
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// From here on the doings of the calling thread are reported to `executor`'s observer.
    void begin(Executor& executor);
    /// The writer is used by the calling thread now.
    void moved_here() {
        if (slot_ >= 0 && thread_ != this_thread()) move();
    }
    void end();
    /// Does it report to this executor? Whoever destroys that one ends this first.
    bool reports_to(const Executor& executor) const { return slot_ >= 0 && executor_ == &executor; }

  private:
    static std::uint64_t this_thread();
    void move();

    int slot_ = -1;
    std::uint64_t thread_ = 0;
    Executor* executor_ = nullptr;
};

}  // namespace caesura::run
