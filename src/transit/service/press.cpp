#include "transit/service/press.hpp"

#include <algorithm>

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

namespace {
/// What is expected to take a second is given so many: cores are shared, expectations are wrong.
constexpr double k_lead = 1.5;
}  // namespace

void Press::give(std::uint64_t client, double weight, double cost, Work& work, double done_s) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopping_.load(std::memory_order_acquire)) {
            waiting_.fetch_add(1, std::memory_order_relaxed);
            const Due due{base::Clock::steady().now_s() + options_.most_wait_s, done_s};
            queue_.push(client, weight, cost,
                        {&work, client, cost, due.begin_s, done_s - k_lead * cost}, due);
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

Work* Press::take_back(const std::function<bool(Work&)>& accept) {
    // One choice costs a look at each; a long queue is no reason for more than a few.
    constexpr int k_looks = 4;
    Work* taken = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (stopping_.load(std::memory_order_acquire)) return nullptr;  // a worker may end
        if (const auto item = queue_.take_back(
                [&](const Waiting& waiting) { return accept(*waiting.work); }, k_looks))
            taken = item->work;
        // What lies ready for a worker only this lock puts there; the worker may take it meanwhile.
        for (const auto& worker : workers_) {
            if (taken != nullptr) break;
            Work* ready = worker->slot.exchange(nullptr, std::memory_order_acq_rel);
            if (ready == nullptr) continue;
            if (accept(*ready)) {
                taken = ready;
                event_.raise();  // the slot is free, and its worker will find nothing to say so
            } else {
                worker->slot.store(ready, std::memory_order_release);
                worker->event.raise();
            }
        }
    }
    if (taken != nullptr) waiting_.fetch_sub(1, std::memory_order_relaxed);
    return taken;
}

void Press::when_free(std::function<double()> call) {
    {
        const std::lock_guard lock(free_mutex_);
        when_free_ = std::move(call);
    }
    event_.raise();
}

double Press::ask_for_more() {
    const std::lock_guard lock(free_mutex_);
    return when_free_ ? when_free_() : base::Event::k_forever_s;
}

// @return whether a worker could take more.
bool Press::fill_slots() {
    for (const auto& worker : workers_) {
        if (worker->slot.load(std::memory_order_acquire) != nullptr) continue;
        const auto item = queue_.pop();
        if (!item) return true;
        worker->ready = *item;
        worker->slot.store(item->work, std::memory_order_release);
        worker->event.raise();
    }
    return false;
}

// When what lies ready for a worker is no longer waited for. By a claim that is now: then it
// counts.
double Press::leave_s(const Waiting& ready, double now_s) {
    double leave_s = std::min(ready.begin_s, ready.claim_s);
    if (ready.begin_s <= now_s || leave_s > now_s) return leave_s;
    if (queue_.claim(ready.client, ready.cost, now_s, leave_s)) return now_s;
    return std::min(ready.begin_s, leave_s);
}

// What has waited too long or is due: of a worker that has not begun it, else of the queue.
// @param wait_s  until there may be something, at most.
Work* Press::take_due(double& wait_s) {
    if (!options_.idle_priority) return nullptr;
    const double now_s = base::Clock::steady().now_s();
    for (const auto& worker : workers_) {
        if (worker->slot.load(std::memory_order_acquire) == nullptr) continue;
        const double left_s = leave_s(worker->ready, now_s) - now_s;
        if (left_s > 0.0)
            wait_s = std::min(wait_s, left_s);
        else if (Work* const work = worker->slot.exchange(nullptr, std::memory_order_acq_rel))
            return work;
    }
    double next_s = Due::k_never_s;
    if (const auto item = queue_.pop_due(now_s, k_lead, next_s)) return item->work;
    wait_s = std::min(wait_s, next_s - now_s);
    return nullptr;
}

void Press::dispatch() {
    for (;;) {
        const std::uint32_t seen = event_.count();
        bool stopping = false;
        std::deque<Work*> given_up;
        Work* due = nullptr;
        bool is_free = false;
        double wait_s = base::Event::k_forever_s;
        {
            const std::lock_guard lock(mutex_);
            // Asked under the lock: else a worker that has seen the end and found its slot empty
            // is gone when the slot is filled.
            stopping = stopping_.load(std::memory_order_acquire);
            for (const std::uint64_t client : to_forget_)
                for (const Waiting& item : queue_.forget(client)) given_up.push_back(item.work);
            to_forget_.clear();
            while (stopping) {
                const auto item = queue_.pop();
                if (!item) break;
                given_up.push_back(item->work);
            }
            is_free = fill_slots();
            if (!stopping) due = take_due(wait_s);
        }
        for (Work* const work : given_up) {
            work->give_up();
            waiting_.fetch_sub(1, std::memory_order_relaxed);
        }
        if (stopping) return;
        if (due != nullptr) {
            due->compute();
            waiting_.fetch_sub(1, std::memory_order_relaxed);
        } else {
            if (is_free) wait_s = std::min(wait_s, ask_for_more());
            event_.wait(seen, wait_s);
        }
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
