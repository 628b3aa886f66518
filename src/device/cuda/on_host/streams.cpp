#include <chrono>

#include "device/cuda/on_host/state.hpp"

namespace caesura::device::on_host {

Queue::Queue(int device, bool blocking, std::uint64_t seed)
    : device_(device), blocking_(blocking), random_(seed) {
    worker_ = std::thread([this] { run(); });
}

Queue::~Queue() {
    {
        const Lock lock(state().mutex);
        over_ = true;
    }
    state().changed.notify_all();
    worker_.join();
}

Point Queue::give(Operation operation) {
    operations_.push_back(std::move(operation));
    ++progress_->given;
    state().changed.notify_all();
    return last();
}

void Queue::run() {
    grant_access();
    State& all = state();
    Lock lock(all.mutex);
    for (;;) {
        all.changed.wait(lock, [&] { return over_ || !operations_.empty(); });
        if (operations_.empty()) return;
        Operation operation = std::move(operations_.front());
        operations_.pop_front();
        for (const Point& point : operation.after) wait_for(lock, point);
        lock.unlock();
        wait_a_little();
        lock.lock();
        if (operation.can_fail) {
            ++all.operations;
            if (all.operations_to_failure > 0 && --all.operations_to_failure == 0)
                all.lost = all.operation_code;
        }
        if (operation.run && all.lost == cudaSuccess) {
            lock.unlock();
            operation.run();
            lock.lock();
        }
        if (operation.finish) operation.finish();
        ++progress_->done;
        all.changed.notify_all();
    }
}

/// So that what is not waited for is not there.
void Queue::wait_a_little() {
    const std::uint64_t longest_ns = state().options.delay_ns;
    const std::uint64_t ns = random_() % 2 == 0 || longest_ns == 0 ? 0 : random_() % longest_ns;
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
    do std::this_thread::yield();
    while (std::chrono::steady_clock::now() < end);
}

Point give_to(Queue& queue, Operation operation) {
    State& all = state();
    Queue& first = *all.defaults[static_cast<std::size_t>(queue.device())];
    if (&queue == &first) {
        for (const auto& [handle, other] : all.streams)
            if (other->device() == queue.device() && other->blocking())
                operation.after.push_back(other->last());
    } else if (queue.blocking()) {
        operation.after.push_back(first.last());
    }
    return queue.give(std::move(operation));
}

void wait_for(Lock& lock, const Point& point) {
    state().changed.wait(lock, [&] { return point.is_past(); });
}

}  // namespace caesura::device::on_host
