// Functions from any thread for one thread, without a lock: a thread of idle priority that is
// preempted while it pushes holds up nobody (decision D5).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace caesura::transit {

class Calls {
  public:
    Calls() = default;
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;
    ~Calls() { free(newest_.load()); }

    /// Any thread.
    /// @return  it is the first since take(): wake whoever takes.
    bool push(std::function<void()> function) {
        Call* older = newest_.load(std::memory_order_relaxed);
        auto* call = new Call{std::move(function), older};
        while (!newest_.compare_exchange_weak(older, call)) call->older = older;
        return older == nullptr;  // the call itself is the taker's, who may have freed it
    }

    /// One thread: run all that were pushed, in the order in which they were.
    /// @return  were there any?
    bool run() {
        Call* list = nullptr;
        for (Call* call = newest_.exchange(nullptr); call != nullptr;) {
            Call* older = call->older;
            call->older = list;
            list = call;
            call = older;
        }
        const bool any = list != nullptr;
        while (list != nullptr) {
            const std::unique_ptr<Call> call(list);
            list = call->older;
            call->function();
        }
        return any;
    }
    bool empty() const { return newest_.load() == nullptr; }

  private:
    struct Call {
        std::function<void()> function;
        Call* older;
    };
    static void free(Call* call) {
        while (call != nullptr) delete std::exchange(call, call->older);
    }

    std::atomic<Call*> newest_{nullptr};
};

}  // namespace caesura::transit
