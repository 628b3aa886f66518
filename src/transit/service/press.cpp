#include "transit/service/press.hpp"

#include "run/priority.hpp"

namespace caesura::transit {

Press::Press(const Options& options) : options_(options) {
    for (int i = 0; i < options.threads; ++i) {
        workers_.push_back(std::make_unique<Worker>());
        Worker& worker = *workers_.back();
        worker.thread = std::thread([this, &worker] { work(worker); });
    }
    dispatcher_ = std::thread([this] { dispatch(); });
}

void Press::stop() {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_.exchange(true, std::memory_order_acq_rel)) return;
    }
    event_.raise();
    dispatcher_.join();
    for (const auto& worker : workers_) {
        worker->event.raise();
        (void)run::restore_priority(worker->thread.native_handle());
        worker->thread.join();
    }
}

void Press::give(std::uint64_t client, double weight, double cost, Work& work) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopping_.load(std::memory_order_acquire)) {
            waiting_.fetch_add(1, std::memory_order_relaxed);
            queue_.push(client, weight, cost, &work);
            event_.raise();
            return;
        }
    }
    work.give_up();
}

void Press::forget(std::uint64_t client) {
    {
        const std::lock_guard lock(mutex_);
        to_forget_.push_back(client);
    }
    event_.raise();
}

void Press::dispatch() {
    for (;;) {
        const std::uint32_t seen = event_.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        std::deque<Work*> given_up;
        {
            const std::lock_guard lock(mutex_);
            for (const std::uint64_t client : to_forget_)
                for (Work* const work : queue_.forget(client)) given_up.push_back(work);
            to_forget_.clear();
            while (stopping) {
                const auto work = queue_.pop();
                if (!work) break;
                given_up.push_back(*work);
            }
            for (const auto& worker : workers_) {
                if (worker->slot.load(std::memory_order_acquire) != nullptr) continue;
                const auto work = queue_.pop();
                if (!work) break;
                worker->slot.store(*work, std::memory_order_release);
                worker->event.raise();
            }
        }
        for (Work* const work : given_up) {
            work->give_up();
            waiting_.fetch_sub(1, std::memory_order_relaxed);
        }
        if (stopping) return;
        event_.wait(seen);
    }
}

void Press::work(Worker& worker) {
    if (options_.idle_priority) run::lower_priority_of_this_thread();
    for (;;) {
        const std::uint32_t seen = worker.event.count();
        const bool stopping = stopping_.load(std::memory_order_acquire);
        if (Work* const work = worker.slot.exchange(nullptr, std::memory_order_acq_rel)) {
            event_.raise();  // the slot is free
            work->compute();
            waiting_.fetch_sub(1, std::memory_order_relaxed);
            continue;
        }
        if (stopping) return;
        worker.event.wait(seen);
    }
}

}  // namespace caesura::transit
