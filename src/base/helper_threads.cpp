#include "base/helper_threads.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <new>

namespace caesura::base {
namespace {

/// What has come of work; it may throw bad_alloc.
Status outcome_of(const std::function<Status()>& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space, "out of memory"};
    }
}

/// A call that somebody waits for. It lies on his stack.
class Awaited final : public HelperCall {
  public:
    explicit Awaited(const std::function<Status()>& work) : work_(work) {}
    void make() override {
        status_ = outcome_of(work_);
        is_made_.store(true, std::memory_order_release);  // last: now he may go
    }
    bool is_made() const { return is_made_.load(std::memory_order_acquire); }
    Status take_status() { return std::move(status_); }

  private:
    const std::function<Status()>& work_;
    Status status_;
    std::atomic<bool> is_made_{false};
};

}  // namespace

bool is_at_idle_priority() {
    constexpr int k_lowest_nice = 19;
    return ::sched_getscheduler(0) == SCHED_IDLE ||
           ::getpriority(PRIO_PROCESS, 0) == k_lowest_nice;  // of this thread, on Linux
}

HelperThreads::HelperThreads(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

HelperThreads::~HelperThreads() {
    stopping_.store(true, std::memory_order_release);
    given_event_.raise();
    for (std::thread& thread : threads_) thread.join();
}

void HelperThreads::give(HelperCall& call) {
    call.next_ = given_.load(std::memory_order_relaxed);
    while (!given_.compare_exchange_weak(call.next_, &call, std::memory_order_acq_rel)) {
    }
    given_event_.raise();
}

// All who wait share an event: one in the call itself could be gone when it is raised.
Status HelperThreads::wait_for(const std::function<Status()>& work) {
    Awaited call(work);
    give(call);
    for (;;) {
        const std::uint32_t seen = made_event_.count();
        if (call.is_made()) return call.take_status();
        made_event_.wait(seen);
    }
}

Status HelperThreads::at_normal_priority(const std::function<Status()>& work) {
    return is_at_idle_priority() ? wait_for(work) : outcome_of(work);
}

// The next one in the order of giving; null: there is none.
HelperCall* HelperThreads::take() {
    const std::lock_guard lock(mutex_);
    if (oldest_ == nullptr)
        for (HelperCall* call = given_.exchange(nullptr, std::memory_order_acq_rel);
             call != nullptr;) {
            HelperCall* const next = call->next_;
            call->next_ = oldest_;
            oldest_ = call;
            call = next;
        }
    HelperCall* const taken = oldest_;
    if (taken != nullptr) oldest_ = taken->next_;  // it may be gone afterwards
    return taken;
}

void HelperThreads::loop() {
    for (;;) {
        const std::uint32_t seen = given_event_.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        if (HelperCall* const call = take()) {
            call->make();
            made_event_.raise();
        } else if (stopping) {
            return;
        } else {
            given_event_.wait(seen);
        }
    }
}

}  // namespace caesura::base
