// Little-endian bytes, whatever the machine. Every structure inside a frame goes through here.
//
// Invariants:
//  - Writer and reader of one structure make the same calls in the same order.
//  - A reader never leaves its bytes: past the end it gives zeros and ended_early() says so.
//  Callers
//    look at it before they act on what they read.
#pragma once

#include <cstring>
#include <span>

#include "caesura/base.hpp"
#include "codec/frame/output.hpp"

namespace caesura::codec {

class ByteWriter {
  public:
    explicit ByteWriter(Output& out) : out_(out) {}
    ByteWriter& u8(std::uint8_t value) { return put(value, 1); }
    ByteWriter& u32(std::uint32_t value) { return put(value, 4); }
    ByteWriter& u64(std::uint64_t value) { return put(value, 8); }
    ByteWriter& f64(double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return u64(bits);
    }
    ByteWriter& bytes(std::span<const std::byte> source) {
        out_.append(source);
        return *this;
    }

  private:
    ByteWriter& put(std::uint64_t value, std::size_t n) {
        std::byte* const room = out_.room(n);
        for (std::size_t i = 0; i < n; ++i)
            room[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
        out_.advance(n);
        return *this;
    }
    Output& out_;
};

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> in) : in_(in) {}
    std::uint8_t u8() { return static_cast<std::uint8_t>(get(1)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(get(4)); }
    std::uint64_t u64() { return get(8); }
    double f64() {
        const std::uint64_t bits = u64();
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    /// The next n bytes; empty (and ended_early()) if there are fewer.
    std::span<const std::byte> bytes(std::uint64_t n) {
        if (n > in_.size()) return fail(), std::span<const std::byte>{};
        const auto head = in_.first(static_cast<std::size_t>(n));
        in_ = in_.subspan(head.size());
        return head;
    }
    std::span<const std::byte> rest() const { return in_; }
    bool ended_early() const { return ended_early_; }

  private:
    void fail() {
        ended_early_ = true;
        in_ = {};
    }
    std::uint64_t get(std::size_t n) {
        if (n > in_.size()) return fail(), 0;
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < n; ++i)
            value |= std::to_integer<std::uint64_t>(in_[i]) << (8 * i);
        in_ = in_.subspan(n);
        return value;
    }
    std::span<const std::byte> in_;
    bool ended_early_ = false;
};

/// Multi-byte values inside sections (planes of bytes, exact values) are copied as they lie in
/// memory, so this format is for little-endian machines.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

}  // namespace caesura::codec
