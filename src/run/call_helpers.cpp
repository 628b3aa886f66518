#include "run/call_helpers.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace caesura::run {
namespace {

constexpr std::uint64_t k_pieces_mask = 0xffff'ffff;
constexpr unsigned k_call_shift = 32;

}  // namespace

CallHelpers::~CallHelpers() {
    stopping_.store(true, std::memory_order_release);
    given_event_.raise();
    for (std::thread& thread : threads_) thread.join();
}

// Without room for another thread the caller works with those it has.
void CallHelpers::begin_threads() try {
    while (threads_.size() < static_cast<std::size_t>(wanted_))
        threads_.emplace_back([this] { loop(); });
} catch (const std::system_error&) {
    wanted_ = static_cast<int>(threads_.size());
}

void CallHelpers::for_each(std::size_t pieces, const std::function<void(std::size_t)>& work) {
    if (wanted_ > 0 && pieces > 1) begin_threads();
    if (wanted_ == 0 || pieces <= 1) {
        for (std::size_t i = 0; i < pieces; ++i) work(i);
        return;
    }
    pieces_ = pieces;
    work_ = &work;
    made_.store(0, std::memory_order_relaxed);
    const std::uint64_t call = (left_.load(std::memory_order_relaxed) >> k_call_shift) + 1;
    left_.store(call << k_call_shift | pieces, std::memory_order_release);
    given_event_.raise();
    make_pieces();
    for (;;) {
        const std::uint32_t seen = made_event_.count();
        if (made_.load(std::memory_order_acquire) == pieces) break;
        made_event_.wait(seen);
    }
    if (has_thrown_.exchange(false, std::memory_order_acquire))
        std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void CallHelpers::make_pieces() {
    std::uint64_t left = left_.load(std::memory_order_acquire);
    while ((left & k_pieces_mask) > 0) {
        if (!left_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) continue;
        const std::size_t pieces = pieces_;
        try {
            (*work_)(pieces - static_cast<std::size_t>(left & k_pieces_mask));
        } catch (...) {
            if (!has_thrown_.exchange(true, std::memory_order_acq_rel))
                thrown_ = std::current_exception();
        }
        // Behind it the caller may be gone.
        if (made_.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces) made_event_.raise();
        left = left_.load(std::memory_order_acquire);
    }
}

void CallHelpers::loop() {
    for (;;) {
        const std::uint32_t seen = given_event_.count();
        make_pieces();
        if (stopping_.load(std::memory_order_acquire)) return;
        given_event_.wait(seen);
    }
}

// In pieces also without helpers: of one long copy the C library sends the values past the caches,
// which is slower on some processors (AMD Zen 4: by a fifth) and leaves nothing there for the
// worker that compresses them.
void CallHelpers::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t k_piece_bytes = std::size_t{512} << 10;
    const std::size_t pieces = (bytes + k_piece_bytes - 1) / k_piece_bytes;
    // Waking a thread takes as long as copying a piece.
    constexpr std::size_t k_worth_waking = 4;
    if (pieces < k_worth_waking) {
        if (bytes > 0) std::memcpy(to, from, bytes);
        return;
    }
    for_each(pieces, [&](std::size_t i) {
        const std::size_t at = i * k_piece_bytes;
        std::memcpy(to + at, from + at, std::min(k_piece_bytes, bytes - at));
    });
}

}  // namespace caesura::run
