// Threads of normal priority that share what the application waits for in our calls: the copy in
// put(), the looks in end(). They use cores that the rank has beside the caller's: while it is in a
// call, the application leaves them alone.
//
// Invariants:
//  - The caller begins whatever nobody has begun. So it waits for a helper only if that is at a
//    piece, never for one that does not come.
//  - Once for_each() has returned, no helper touches what it was given.
//  - Idle-priority threads have no part in it: preempted at a piece, one would hold up the caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/event.hpp"

namespace caesura::run {

class CallHelpers {
  public:
    /// @param threads  beside the caller. They begin with the first call that they can help in.
    explicit CallHelpers(int threads) : wanted_(threads) {}
    ~CallHelpers();
    CallHelpers(const CallHelpers&) = delete;
    CallHelpers& operator=(const CallHelpers&) = delete;

    /// How many make a call, the caller included.
    int threads() const { return wanted_ + 1; }
    /// Makes work(0) to work(pieces - 1), each once, in any order, by several threads at a time.
    /// Returns when all are made. If some throw, it then throws the first exception.
    /// One caller at a time. @param pieces  fewer than 2^32.
    void for_each(std::size_t pieces, const std::function<void(std::size_t)>& work);
    /// memcpy. Cost: with a thread more about half of one thread's time, where memory allows it.
    void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  private:
    void begin_threads();
    void loop();
    void make_pieces();

    int wanted_;
    std::vector<std::thread> threads_;
    base::Event given_event_, made_event_;
    std::atomic<bool> stopping_{false};
    /// The number of the call in the upper half, how many of its pieces nobody has begun in the
    /// lower one: a helper that comes late can begin no piece of another call by mistake.
    std::atomic<std::uint64_t> left_{0};
    std::atomic<std::size_t> made_{0};
    std::atomic<bool> has_thrown_{false};
    // Of the call. They do not change while somebody is at a piece.
    std::size_t pieces_ = 0;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::exception_ptr thrown_;
};

}  // namespace caesura::run
