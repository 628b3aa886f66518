// One direction of a link, through a few buffers of pinned memory: a thread moves data in pieces
// between them and the application's own memory while others are on the link.
//
// A GPU copies asynchronously from and to pinned memory only, and pinning takes longer than
// copying; the application's memory is ordinary. Memory that is pinned already is used as it is.
//
//     to the host    device ─► pinned (asynchronous) ─► host (this thread)
//     to the device  host ─► pinned (this thread) ─► device (asynchronous)
//
// Invariants:
//  - Transfers end in the order in which they were given; the pieces of one follow each other, and
//    those of the next do not wait for its end.
//  - After an error of the device nothing more is moved, and all transfers return it.
//  - The destructor waits for all that was given.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "caesura/base.hpp"

namespace caesura::device {

/// Moves bytes asynchronously, each move under a number of its own. Called by one thread.
class Mover {
  public:
    virtual ~Mover() = default;
    /// Before anything else on the thread that calls.
    virtual Status enter() = 0;
    /// What is started from now on begins when `after` is done, which is then the mover's to reuse.
    virtual Status begin(std::uint64_t after) = 0;
    /// One move under a number that has none.
    virtual Status start(std::size_t number, std::byte* to, const std::byte* from,
                         std::uint64_t bytes) = 0;
    /// Until the move under the number is done.
    virtual Status wait(std::size_t number) = 0;
    /// Can it move directly from or to this memory of the host?
    virtual bool is_pinned(const std::byte* host) = 0;
};

class StagedLink {
  public:
    enum class Direction { to_host, to_device };
    struct Item {
        std::byte* device = nullptr;
        std::byte* host = nullptr;  ///< read only, to the device
        std::uint64_t bytes = 0;
        std::uint64_t after = 0;  ///< for Mover::begin()
    };
    /// @param buffers  pinned, all of the same size, at least two; the mover and they outlive it.
    StagedLink(Direction direction, Mover& mover, std::vector<std::span<std::byte>> buffers);
    ~StagedLink();
    StagedLink(const StagedLink&) = delete;
    StagedLink& operator=(const StagedLink&) = delete;

    /// Does not wait. @return its number, counted from 1.
    std::uint64_t give(Item item);
    /// Errors: those of the mover.
    Result<bool> is_done(std::uint64_t number);
    Status wait(std::uint64_t number);
    std::uint64_t given() const { return given_; }

  private:
    struct StagedPart {
        std::size_t buffer = 0;
        std::byte* host = nullptr;
        std::uint64_t bytes = 0;
        bool staged = true;
        bool last = false;     ///< of its item
        bool is_here = false;  ///< moved, and not yet copied out
    };
    void run();
    Status start_next(Item& item, std::uint64_t& moved);
    bool take_next(const Status& status, Item& item);
    Status wait_for_oldest();
    void copy_out_oldest();

    const Direction direction_;
    Mover& mover_;
    const std::vector<std::span<std::byte>> buffers_;
    std::uint64_t given_ = 0;  ///< of the thread that gives
    // Of the worker thread.
    std::deque<StagedPart> on_link_;
    std::size_t next_buffer_ = 0;
    // Under the lock.
    std::mutex mutex_;
    std::condition_variable given_or_over_, done_or_failed_;
    std::deque<Item> waiting_;
    std::uint64_t done_ = 0;
    bool over_ = false;
    Status status_;
    std::thread worker_;  // last: it uses all of the above
};

}  // namespace caesura::device
