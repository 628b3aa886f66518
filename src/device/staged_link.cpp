#include "device/staged_link.hpp"

#include <algorithm>
#include <cstring>

namespace caesura::device {

StagedLink::StagedLink(Direction direction, Mover& mover, std::vector<std::span<std::byte>> buffers)
    : direction_(direction), mover_(mover), buffers_(std::move(buffers)) {
    worker_ = std::thread([this] { run(); });
}

StagedLink::~StagedLink() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    given_or_over_.notify_one();
    worker_.join();
}

std::uint64_t StagedLink::give(Item item) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(item);
    }
    given_or_over_.notify_one();
    return ++given_;
}

Result<bool> StagedLink::is_done(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    return number <= done_;
}

Status StagedLink::wait(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    done_or_failed_.wait(lock, [&] { return number <= done_ || !status_.ok(); });
    return status_;
}

// ------------------------------------------------------------------------------ the worker thread

void StagedLink::run() {
    Status status = mover_.enter();
    Item item;
    std::uint64_t moved = 0;  // of the item
    bool has_item = false;
    for (;;) {
        if (!has_item) {
            has_item = take_next(status, item);
            moved = 0;
            if (!has_item && on_link_.empty()) return;
        }
        if (!status.ok()) {  // what was given is passed over
            has_item = false;
            on_link_.clear();
        } else if (has_item && on_link_.size() < buffers_.size()) {
            status = start_next(item, moved);
            has_item = moved < item.bytes;
        } else if (!on_link_.front().is_here) {
            status = wait_for_oldest();  // then the next may begin while this one is copied out
        } else {
            copy_out_oldest();
        }
    }
}

/// Waits if nothing is on the link. @return whether there is one; if not and nothing is on the
/// link, it is all over.
bool StagedLink::take_next(const Status& status, Item& item) {
    std::unique_lock lock(mutex_);
    if (!status.ok() && status_.ok()) {
        status_ = status;
        done_or_failed_.notify_all();
    }
    if (on_link_.empty()) given_or_over_.wait(lock, [&] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    item = waiting_.front();
    waiting_.pop_front();
    return true;
}

Status StagedLink::start_next(Item& item, std::uint64_t& moved) {
    if (moved == 0)
        if (Status status = mover_.begin(item.after); !status.ok()) return status;
    const std::size_t number = next_buffer_;
    next_buffer_ = (next_buffer_ + 1) % buffers_.size();
    const std::span<std::byte> buffer = buffers_[number];
    const bool staged = !mover_.is_pinned(item.host);
    const std::uint64_t left = item.bytes - moved;
    const std::uint64_t bytes = staged ? std::min<std::uint64_t>(left, buffer.size()) : left;
    std::byte* const host = item.host + moved;
    std::byte* const pinned = staged ? buffer.data() : host;
    if (direction_ == Direction::to_device && staged) std::memcpy(pinned, host, bytes);
    Status status = direction_ == Direction::to_host
                        ? mover_.start(number, pinned, item.device + moved, bytes)
                        : mover_.start(number, item.device + moved, pinned, bytes);
    moved += bytes;
    on_link_.push_back({number, host, bytes, staged, moved == item.bytes, false});
    return status;
}

Status StagedLink::wait_for_oldest() {
    on_link_.front().is_here = true;
    return mover_.wait(on_link_.front().buffer);
}

void StagedLink::copy_out_oldest() {
    const StagedPart piece = on_link_.front();
    on_link_.pop_front();
    if (direction_ == Direction::to_host && piece.staged)
        std::memcpy(piece.host, buffers_[piece.buffer].data(), piece.bytes);
    if (!piece.last) return;
    {
        const std::lock_guard lock(mutex_);
        ++done_;
    }
    done_or_failed_.notify_all();
}

}  // namespace caesura::device
