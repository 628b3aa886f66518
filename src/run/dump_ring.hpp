// The dumps in flight: owned by the application's thread, seen by the lanes without a lock.
//
// Invariants:
//  - Dumps are numbered in the order in which they were added. Those from first() to submitted()
//    are there; those before written() have been left behind by the write lane.
//  - A lane that may hold a pointer to a dump keeps the application from removing it
//    (Worker::at_dump, written()).
#pragma once

#include <atomic>
#include <deque>

#include "run/job.hpp"

namespace caesura::run {

class DumpRing {
  public:
    static constexpr std::size_t k_most = 4096;  // in flight

    // ---- the application's thread
    const std::deque<std::unique_ptr<DumpTask>>& dumps() const { return dumps_; }
    std::uint64_t first() const { return first_; }
    bool full() const { return dumps_.size() >= k_most; }
    void add(std::unique_ptr<DumpTask> dump) {
        const std::uint64_t number = submitted_.load(std::memory_order_relaxed);
        ring_[number % k_most].store(dump.get(), std::memory_order_release);
        dumps_.push_back(std::move(dump));
        submitted_.store(number + 1, std::memory_order_release);
    }
    std::unique_ptr<DumpTask> remove_first() {
        ring_[first_ % k_most].store(nullptr, std::memory_order_release);
        std::unique_ptr<DumpTask> dump = std::move(dumps_.front());
        dumps_.pop_front();
        ++first_;
        return dump;
    }

    // ---- any thread
    /// @param number  below submitted(); the caller keeps the dump from being removed.
    DumpTask* at(std::uint64_t number) const {
        return ring_[number % k_most].load(std::memory_order_acquire);
    }
    std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
    /// In one order with Worker::at_dump, see Executor::hold_dumps.
    std::uint64_t written() const { return written_.load(std::memory_order_seq_cst); }
    bool all_written() const { return written() == submitted(); }

    // ---- the write lane
    void leave_behind() { written_.fetch_add(1, std::memory_order_seq_cst); }

  private:
    std::deque<std::unique_ptr<DumpTask>> dumps_;
    std::vector<std::atomic<DumpTask*>> ring_{k_most};
    std::atomic<std::uint64_t> submitted_{0}, written_{0};
    std::uint64_t first_ = 0;
};

}  // namespace caesura::run
