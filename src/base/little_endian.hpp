// Numbers as little-endian bytes, whatever the machine. Every structure of ours that lies in a file
// or in a frame goes through here.
//
// Invariants:
//  - Writer and reader of one structure make the same calls in the same order.
//  - A reader never leaves its bytes: past the end it gives zeros and ended_early() says so.
//    Callers look at it before they act on what they read, or have checked the length before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace caesura::base {

/// The n <= 8 low bytes of `value`.
inline void put_little(std::byte* to, std::uint64_t value, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
}

/// What put_little() put.
inline std::uint64_t get_little(const std::byte* from, std::size_t n) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
    return value;
}

/// The bits of a value of n <= 8 bytes as it lies in this machine's memory.
inline std::uint64_t get_native(const std::byte* from, std::size_t n) {
    std::byte bytes[8] = {};
    std::memcpy(bytes, from, n);
    if (std::endian::native == std::endian::big) std::reverse(bytes, bytes + n);
    return get_little(bytes, n);
}

/// What get_native() got.
inline void put_native(std::byte* to, std::uint64_t bits, std::size_t n) {
    put_little(to, bits, n);
    if (std::endian::native == std::endian::big) std::reverse(to, to + n);
}

/// Memory of a fixed length, filled from its begin. The caller has checked that it is long enough.
class FixedRoom {
  public:
    explicit FixedRoom(std::span<std::byte> memory) : memory_(memory) {}
    std::byte* room(std::size_t) { return memory_.data() + size_; }
    void advance(std::size_t n) { size_ += n; }
    std::size_t size() const { return size_; }

  private:
    std::span<std::byte> memory_;
    std::size_t size_ = 0;
};

/// @tparam Sink  has room(n), where n more bytes may be written; advance(n), after that; and
///               size(), what it has. A reference, or FixedRoom.
template <class Sink>
class ByteWriter {
  public:
    template <class Given>
    requires(!std::is_same_v<std::remove_cvref_t<Given>, ByteWriter>) explicit ByteWriter(
        Given&& given)
        : sink_(std::forward<Given>(given)) {}
    ByteWriter& u8(std::uint8_t value) { return put(value, 1); }
    ByteWriter& u32(std::uint32_t value) { return put(value, 4); }
    ByteWriter& u64(std::uint64_t value) { return put(value, 8); }
    ByteWriter& f64(double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return u64(bits);
    }
    ByteWriter& bytes(std::span<const std::byte> source) {
        if (source.empty()) return *this;
        std::memcpy(sink_.room(source.size()), source.data(), source.size());
        sink_.advance(source.size());
        return *this;
    }
    /// Zeros up to `offset`.
    ByteWriter& pad_to(std::size_t offset) {
        while (at() < offset) put(0, 1);
        return *this;
    }
    std::size_t at() const { return sink_.size(); }

  private:
    ByteWriter& put(std::uint64_t value, std::size_t n) {
        put_little(sink_.room(n), value, n);
        sink_.advance(n);
        return *this;
    }
    Sink sink_;
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
        if (!has(n)) return {};
        at_ += static_cast<std::size_t>(n);
        return in_.subspan(at_ - static_cast<std::size_t>(n), static_cast<std::size_t>(n));
    }
    /// The next bytes, as many as `target` has; zeros (and ended_early()) if there are fewer.
    void bytes(std::span<std::byte> target) {
        if (target.empty()) return;
        if (!has(target.size())) {
            std::memset(target.data(), 0, target.size());
            return;
        }
        std::memcpy(target.data(), in_.data() + at_, target.size());
        at_ += target.size();
    }
    /// Go on at `offset`, forwards or back.
    void skip_to(std::size_t offset) {
        at_ = 0;
        if (has(offset)) at_ = offset;
    }
    std::size_t at() const { return at_; }
    std::span<const std::byte> rest() const { return in_.subspan(at_); }
    bool ended_early() const { return ended_early_; }

  private:
    // After the end nothing is there any more.
    bool has(std::uint64_t n) {
        if (n <= in_.size() - at_) return true;
        ended_early_ = true;
        at_ = in_.size();
        return false;
    }
    std::uint64_t get(std::size_t n) {
        if (!has(n)) return 0;
        at_ += n;
        return get_little(in_.data() + at_ - n, n);
    }
    std::span<const std::byte> in_;
    std::size_t at_ = 0;
    bool ended_early_ = false;
};

}  // namespace caesura::base
