// Where a frame is written: bytes that grow at their end, to be filled in place.
//
// Kernels write codes' bits and streams right where they stay; a copy of them would be a tenth of
// the time that fast compression takes. Hence room() and advance(), and memory that the caller may
// bring (a Python bytes object, say).
//
// Invariants:
//  - Brought memory is used until it is too small; then everything moves to memory of its own.
//  - What lies past size() has any content.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace caesura::codec {

class Output {
  public:
    /// Memory of its own.
    Output() = default;
    /// At first in `memory`, which must outlive this.
    explicit Output(std::span<std::byte> memory)
        : data_(memory.data()), capacity_(memory.size()), brought_(memory.data()) {}
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    /// Room for n more bytes behind size(), until the next call. Throws std::bad_alloc.
    std::byte* room(std::size_t n) {
        if (n > capacity_ - size_) grow(size_ + n);
        return data_ + size_;
    }
    /// After writing n bytes of the room.
    void advance(std::size_t n) { size_ += n; }
    void append(std::span<const std::byte> bytes) {
        if (bytes.empty()) return;
        if (bytes.size() > capacity_ - size_ && !in_brought_memory()) {
            // No zeroing where bytes are at hand.
            own_.resize(size_);
            own_.insert(own_.end(), bytes.begin(), bytes.end());
            use_own();
            size_ = own_.size();
            return;
        }
        std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
        advance(bytes.size());
    }
    void push_back(std::byte byte) {
        *room(1) = byte;
        advance(1);
    }
    void append_zeros(std::size_t n) {
        if (n == 0) return;
        std::memset(room(n), 0, n);
        advance(n);
    }
    /// Forget what lies past n <= size() bytes.
    void shrink(std::size_t n) { size_ = n; }
    void clear() { size_ = 0; }
    /// It will come to about so many bytes: a hint, so that memory of its own moves less.
    void expect(std::size_t bytes) {
        if (in_brought_memory()) return;
        own_.reserve(bytes);
        use_own();
    }

    std::size_t size() const { return size_; }
    std::byte* data() { return data_; }
    std::span<std::byte> bytes() { return {data_, size_}; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    bool in_brought_memory() const { return brought_ != nullptr; }

    /// The bytes, of memory of its own. Empty afterwards.
    std::vector<std::byte> take() {
        own_.resize(size_);
        std::vector<std::byte> taken = std::move(own_);
        own_.clear();
        data_ = nullptr;
        size_ = capacity_ = 0;
        return taken;
    }

  private:
    void grow(std::size_t wanted) {
        // A vector zeroes what it grows by. A little at a time lies in the first cache when it is
        // written, so that costs next to nothing.
        constexpr std::size_t k_ahead = 4096;
        if (in_brought_memory()) {
            own_.reserve(wanted + wanted / 2);
            own_.assign(data_, data_ + size_);
        }
        own_.resize(wanted + k_ahead);
        use_own();
    }
    void use_own() {
        data_ = own_.data();
        capacity_ = own_.size();
        brought_ = nullptr;
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;      // of data_
    std::byte* brought_ = nullptr;  // null: data_ is own_'s
    std::vector<std::byte> own_;
};

}  // namespace caesura::codec
