#include "transit/service/lane.hpp"

namespace caesura::transit {

Lane::Lane() : thread_([this] { loop(); }) {}

Lane::~Lane() {
    stopping_.store(true, std::memory_order_release);
    event_.raise();
    thread_.join();
}

void Lane::give(std::function<void()> call) {
    {
        const std::lock_guard lock(mutex_);
        calls_.push_back(std::move(call));
    }
    event_.raise();
}

void Lane::done(DoneWork& work) {
    work.next_ = done_.load(std::memory_order_relaxed);
    while (!done_.compare_exchange_weak(work.next_, &work, std::memory_order_acq_rel)) {
    }
    event_.raise();
}

void Lane::loop() {
    for (;;) {
        const std::uint32_t seen = event_.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        bool any = false;
        // The newest lies first.
        DoneWork* oldest = nullptr;
        for (DoneWork* work = done_.exchange(nullptr, std::memory_order_acq_rel);
             work != nullptr;) {
            DoneWork* const next = work->next_;
            work->next_ = oldest;
            oldest = work;
            work = next;
        }
        while (oldest != nullptr) {
            DoneWork* const work = oldest;
            oldest = work->next_;  // it may be gone afterwards
            work->take_up();
            any = true;
        }
        std::function<void()> call;
        {
            const std::lock_guard lock(mutex_);
            if (!calls_.empty()) {
                call = std::move(calls_.front());
                calls_.pop_front();
            }
        }
        if (call) call();
        if (call || any) continue;
        if (stopping) return;
        event_.wait(seen);
    }
}

}  // namespace caesura::transit
