// Threads of normal priority that do for others what a thread at idle priority must not do itself:
// call what has locks that threads of normal priority wait for (decision D22).
//
// Why: a thread at idle priority gets no time from cores that others keep busy. If it is preempted
// while it has a lock, whoever needs that lock stands still with it.
//
// Invariants:
//  - Calls are begun in the order in which they were given; with one thread they are made one after
//    the other.
//  - Who gives a call touches atomics alone, also who waits for it: any thread may, whatever its
//    priority.
//  - What was given is made before the threads end.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/event.hpp"
#include "caesura/base.hpp"

namespace caesura::base {

/// Does the calling thread get only the time that nobody else wants (SCHED_IDLE, or nice 19)?
bool is_at_idle_priority();

/// Something that a helper does.
class HelperCall {
  public:
    virtual ~HelperCall() = default;
    /// The helper does not touch the call afterwards. Must not throw.
    virtual void make() = 0;

  private:
    friend class HelperThreads;
    HelperCall* next_ = nullptr;
};

class HelperThreads {
  public:
    /// On a thread of normal priority, whose priority they have.
    explicit HelperThreads(int threads = 1);
    ~HelperThreads();
    HelperThreads(const HelperThreads&) = delete;
    HelperThreads& operator=(const HelperThreads&) = delete;

    /// Any thread, without waiting. The call lives until it is made.
    void give(HelperCall& call);
    /// Any thread; waits for the work. It may throw bad_alloc. Errors: the work's; no_space.
    Status wait_for(const std::function<Status()>& work);
    /// On the calling thread if that has normal priority, else as wait_for().
    Status at_normal_priority(const std::function<Status()>& work);

  private:
    void loop();
    HelperCall* take();

    Event given_event_, made_event_;
    std::atomic<HelperCall*> given_{nullptr};  ///< the newest first
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;  ///< of the helpers alone
    HelperCall* oldest_ = nullptr;
    std::vector<std::thread> threads_;
};

}  // namespace caesura::base
