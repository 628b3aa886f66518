#include "transit/service/lane.hpp"

#include "base/clock.hpp"

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

void Lane::give_later(double after_s, std::function<void()> call) {
    later_.emplace(base::Clock::steady().now_s() + after_s, std::move(call));
}

bool Lane::do_done() {
    // The newest lies first.
    DoneWork* oldest = nullptr;
    for (DoneWork* work = done_.exchange(nullptr, std::memory_order_acq_rel); work != nullptr;) {
        DoneWork* const next = work->next_;
        work->next_ = oldest;
        oldest = work;
        work = next;
    }
    const bool any = oldest != nullptr;
    while (oldest != nullptr) {
        DoneWork* const work = oldest;
        oldest = work->next_;  // it may be gone afterwards
        work->take_up();
    }
    return any;
}

bool Lane::do_call() {
    std::function<void()> call;
    {
        const std::lock_guard lock(mutex_);
        if (calls_.empty()) return false;
        call = std::move(calls_.front());
        calls_.pop_front();
    }
    call();
    return true;
}

double Lane::do_due() {
    while (!later_.empty()) {
        const double left_s = later_.begin()->first - base::Clock::steady().now_s();
        if (left_s > 0.0) return left_s;
        later_.extract(later_.begin()).mapped()();
    }
    return base::Event::k_forever_s;
}

void Lane::loop() {
    for (;;) {
        const std::uint32_t seen = event_.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        const bool did_done = do_done();
        const bool did_call = do_call();
        if (did_done || did_call) continue;
        if (stopping) return;
        const double left_s = do_due();
        event_.wait(seen, left_s);
    }
}

}  // namespace caesura::transit
