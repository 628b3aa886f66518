// How many bytes the states of analyses take that the service keeps: of dumps until all their
// blocks have been seen, and of functions that clients have run.
//
// Invariants:
//  - The shares together never exceed the budget.
//  - A state is measured again each time it may have doubled: what measuring takes stays a small
//    part of what looking at the values takes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "lambda/registry.hpp"

namespace caesura::transit {

/// Any thread.
class StateBudget {
  public:
    explicit StateBudget(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
    /// Instead of `before`. Errors: no_space, naming the limit; then `before` stays.
    Status exchange(std::uint64_t before, std::uint64_t after) {
        std::uint64_t used = used_.load();
        do {
            if (after > before && after - before > most_bytes_ - used)
                return {StatusCode::no_space,
                        fmt::format("states of analyses: {} bytes beside {}, and the service keeps "
                                    "at most {} (states_bytes)",
                                    after, used - before, most_bytes_)};
        } while (!used_.compare_exchange_weak(used, used - before + after));
        return {};
    }
    std::uint64_t used_bytes() const { return used_.load(); }
    /// Of dumps, whose objects lack a result for it.
    std::uint64_t refused() const { return refused_.load(); }
    void note_refusal() { ++refused_; }

  private:
    const std::uint64_t most_bytes_;
    std::atomic<std::uint64_t> used_{0}, refused_{0};
};

/// What a state takes. One that cannot be measured has no room.
inline std::uint64_t bytes_of(const lambda::AnalysisState& state) try {
    return state.bytes().size();
} catch (const std::bad_alloc&) {
    return std::uint64_t{1} << 62;
}

/// What one state, or some of the same object, take of a budget that outlives this. One thread at a
/// time.
class StateShare {
  public:
    explicit StateShare(StateBudget& budget) : budget_(&budget) {}
    StateShare(StateShare&& other) noexcept
        : budget_(other.budget_),
          counted_(std::exchange(other.counted_, 0)),
          measured_(other.measured_),
          seen_(other.seen_) {}
    StateShare& operator=(StateShare&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(counted_, other.counted_);
        std::swap(measured_, other.measured_);
        std::swap(seen_, other.seen_);
        return *this;
    }
    ~StateShare() { give_back(); }

    /// They have seen so many bytes more, and have at most grown by as many.
    /// @param measure  gives their size. Errors: no_space, naming the limit.
    template <class Measure>
    Status grow(std::uint64_t bytes, const Measure& measure) {
        seen_ += bytes;
        if (seen_ <= std::max(measured_, k_measure_bytes) && count(measured_ + seen_).ok())
            return {};
        return set(measure());
    }
    /// They have this size. Errors: no_space, naming the limit.
    Status set(std::uint64_t bytes) {
        measured_ = bytes;
        seen_ = 0;
        return count(bytes);
    }
    void give_back() { (void)set(0); }
    /// So many bytes of it, or all, for what leaves these states: they are counted all along.
    StateShare split(std::uint64_t bytes) {
        StateShare part(*budget_);
        part.counted_ = part.measured_ = std::min(bytes, counted_);
        counted_ -= part.counted_;
        measured_ -= std::min(measured_, part.counted_);
        return part;
    }
    /// What `other` counts is counted here from now on.
    void absorb(StateShare other) {
        counted_ += std::exchange(other.counted_, 0);
        measured_ += other.measured_;
        seen_ += other.seen_;
    }

  private:
    static constexpr std::uint64_t k_measure_bytes = std::uint64_t{1} << 20;
    Status count(std::uint64_t bytes) {
        const Status status = budget_->exchange(counted_, bytes);
        if (status.ok()) counted_ = bytes;
        return status;
    }
    StateBudget* budget_;
    std::uint64_t counted_ = 0, measured_ = 0, seen_ = 0;
};

}  // namespace caesura::transit
