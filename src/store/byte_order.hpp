// Little-endian records, whatever the machine. Every on-disk structure of ours goes through here.
//
// Invariant: writers and readers of one record make the same calls in the same order; the caller
// has checked that the span is long enough.
#pragma once

#include <algorithm>

#include "caesura/base.hpp"

namespace caesura::store {

class RecordWriter {
  public:
    explicit RecordWriter(std::span<std::byte> out) : out_(out) {}
    RecordWriter& u32(std::uint32_t value) { return put(value, 4); }
    RecordWriter& u64(std::uint64_t value) { return put(value, 8); }
    RecordWriter& bytes(std::span<const std::byte> source) {
        std::copy(source.begin(), source.end(), out_.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ += source.size();
        return *this;
    }
    /// Zeros up to `offset`.
    RecordWriter& pad_to(std::size_t offset) {
        while (at_ < offset) out_[at_++] = std::byte{0};
        return *this;
    }
    std::size_t at() const { return at_; }

  private:
    RecordWriter& put(std::uint64_t value, int n) {
        for (int i = 0; i < n; ++i) out_[at_++] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
        return *this;
    }
    std::span<std::byte> out_;
    std::size_t at_ = 0;
};

class RecordReader {
  public:
    explicit RecordReader(std::span<const std::byte> in) : in_(in) {}
    std::uint32_t u32() { return static_cast<std::uint32_t>(get(4)); }
    std::uint64_t u64() { return get(8); }
    void bytes(std::span<std::byte> target) {
        std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(at_), target.size(), target.begin());
        at_ += target.size();
    }
    void skip_to(std::size_t offset) { at_ = offset; }
    std::size_t at() const { return at_; }

  private:
    std::uint64_t get(int n) {
        std::uint64_t value = 0;
        for (int i = 0; i < n; ++i) value |= std::to_integer<std::uint64_t>(in_[at_++]) << (8 * i);
        return value;
    }
    std::span<const std::byte> in_;
    std::size_t at_ = 0;
};

constexpr std::uint64_t round_up_8(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace caesura::store
