// Fields of messages as bytes: one class writes them, one reads them, with the same calls. So each
// message says once which fields it has (message_fields.hpp), and both directions follow.
//
// Invariants:
//  - The first error is kept, and nothing is written or read behind it that could fail again.
//  - The reader takes no memory that the bytes which are left do not pay for: each item of a list
//    has at least so many bytes as its list says.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/little_endian.hpp"
#include "caesura/codec.hpp"
#include "transit/messages.hpp"

namespace caesura::transit {

/// In front of Hello and Welcome: "CTRN".
inline constexpr std::uint32_t k_magic = 0x4e525443;

/// Bytes at the end of a vector.
class GrowingBytes {
  public:
    std::byte* room(std::size_t n) {
        bytes_.resize(size_ + n);
        return bytes_.data() + size_;
    }
    void advance(std::size_t n) { size_ += n; }
    std::size_t size() const { return size_; }
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
    std::size_t size_ = 0;
};

class FieldWriter {
  public:
    template <class T>
    using Of = const T;
    static constexpr bool k_reads = false;

    explicit FieldWriter(Kind kind) : kind_(kind) { u8(static_cast<std::uint8_t>(kind)); }

    void u8(std::uint8_t value) { out_.u8(value); }
    void u32(std::uint32_t value) { out_.u32(value); }
    void u64(std::uint64_t value) { out_.u64(value); }
    void i32(std::int32_t value) { out_.u32(static_cast<std::uint32_t>(value)); }
    void i64(std::int64_t value) { out_.u64(static_cast<std::uint64_t>(value)); }
    void f64(double value) { out_.f64(value); }
    void flag(bool value, const char*) { out_.u8(value ? 1 : 0); }
    /// An enum whose numbers are first to last.
    template <class E>
    void one_of(E value, E first, E last, const char* name) {
        if (value < first || value > last)
            return fail(fmt::format("{} is {}", name, static_cast<unsigned>(value)));
        out_.u8(static_cast<std::uint8_t>(value));
    }
    /// Bytes of a length that both sides know.
    template <std::size_t N>
    void fixed(const std::array<std::byte, N>& value) {
        out_.bytes(value);
    }
    void text(const std::string& value, std::size_t limit, const char* name) {
        bytes(std::as_bytes(std::span(value)), limit, name);
    }
    /// For people: cut where it is too long. @param keep_end  of the end more is worth knowing.
    void note(const std::string& value, std::size_t limit, const char* name, bool keep_end = false);
    void bytes(std::span<const std::byte> value, std::size_t limit, const char* name) {
        if (count(value.size(), limit, name)) out_.bytes(value);
    }
    template <class T, class Each>
    void list(const std::vector<T>& items, std::size_t limit, std::size_t, const char* name,
              Each each) {
        if (!count(items.size(), limit, name)) return;
        for (const T& item : items) each(item);
    }
    template <class T, class Each>
    void optional(const std::optional<T>& value, const char* name, Each each) {
        flag(value.has_value(), name);
        if (value) each(*value);
    }
    void status(const Status& value);
    /// How many axes the shapes have that follow.
    void axes(int& rank) {
        if (rank < 1 || rank > k_max_rank) return fail(fmt::format("{} axes", rank));
        u8(static_cast<std::uint8_t>(rank));
    }
    void shape(const Shape& value, int rank) {
        for (int axis = 0; axis < rank; ++axis) u64(value[axis]);
    }
    void tables(const TableSet& value) { bytes(value.bytes(), k_table_set_limit_bytes, "tables"); }
    void magic() { u32(k_magic); }
    void version(std::uint32_t value) {
        if (value != k_protocol_version) return fail(fmt::format("version {}", value));
        u32(value);
    }

    const Status& error() const { return error_; }
    void fail(const std::string& what) {
        if (error_.ok())
            error_ = {StatusCode::invalid_argument, fmt::format("{}: {}", to_string(kind_), what)};
    }
    std::vector<std::byte> take() { return sink_.take(); }
    std::size_t size() const { return sink_.size(); }

  private:
    bool count(std::size_t n, std::size_t limit, const char* name) {
        if (n > limit)
            fail(fmt::format("{} has {} of at most {}", name, n, limit));
        else
            u32(static_cast<std::uint32_t>(n));
        return n <= limit;
    }
    Kind kind_;
    GrowingBytes sink_;
    base::ByteWriter<GrowingBytes&> out_{sink_};
    Status error_;
};

class FieldReader {
  public:
    template <class T>
    using Of = T;
    static constexpr bool k_reads = true;

    /// @param bytes  behind the kind.
    FieldReader(Kind kind, std::span<const std::byte> bytes) : kind_(kind), in_(bytes) {}

    void u8(std::uint8_t& value) { value = in_.u8(); }
    void u32(std::uint32_t& value) { value = in_.u32(); }
    void u64(std::uint64_t& value) { value = in_.u64(); }
    void i32(std::int32_t& value) { value = static_cast<std::int32_t>(in_.u32()); }
    void i64(std::int64_t& value) { value = static_cast<std::int64_t>(in_.u64()); }
    void f64(double& value) { value = in_.f64(); }
    void flag(bool& value, const char* name) {
        const std::uint8_t byte = in_.u8();
        if (byte > 1) fail(StatusCode::corrupt, fmt::format("{} is {}", name, byte));
        value = byte == 1;
    }
    template <class E>
    void one_of(E& value, E first, E last, const char* name) {
        const std::uint8_t byte = in_.u8();
        if (ended()) return;
        if (byte < static_cast<std::uint8_t>(first) || byte > static_cast<std::uint8_t>(last))
            return fail(StatusCode::corrupt, fmt::format("{} is {}", name, byte));
        value = static_cast<E>(byte);
    }
    template <std::size_t N>
    void fixed(std::array<std::byte, N>& value) {
        in_.bytes(value);
    }
    void text(std::string& value, std::size_t limit, const char* name) {
        const auto found = view(limit, name);
        value.assign(reinterpret_cast<const char*>(found.data()), found.size());
    }
    void note(std::string& value, std::size_t limit, const char* name, bool = false) {
        text(value, limit, name);
    }
    void bytes(std::vector<std::byte>& value, std::size_t limit, const char* name) {
        const auto found = view(limit, name);
        value.assign(found.begin(), found.end());
    }
    /// @param least_bytes  that an item has; at least 1.
    template <class T, class Each>
    void list(std::vector<T>& items, std::size_t limit, std::size_t least_bytes, const char* name,
              Each each) {
        items.resize(count(limit, least_bytes, name));
        for (T& item : items) {
            if (!good()) return;
            each(item);
        }
    }
    template <class T, class Each>
    void optional(std::optional<T>& value, const char* name, Each each) {
        bool there = false;
        flag(there, name);
        if (!there || !good()) return value.reset();
        each(value.emplace());
    }
    void status(Status& value);
    void axes(int& rank) {
        rank = in_.u8();
        if (rank >= 1 && rank <= k_max_rank) return;
        if (!ended()) fail(StatusCode::corrupt, fmt::format("{} axes", rank));
        rank = 1;
    }
    void shape(Shape& value, int rank) {
        value = Shape::filled(rank, 0);
        for (int axis = 0; axis < rank; ++axis) value[axis] = in_.u64();
    }
    void tables(TableSet& value) {
        const auto found = TableSet::parse(view(k_table_set_limit_bytes, "tables"));
        if (!good()) return;
        if (!found.ok()) return fail(StatusCode::corrupt, found.status().message());
        value = *found;
    }
    void magic() {
        std::uint32_t found = in_.u32();
        if (!ended() && found != k_magic) fail(StatusCode::corrupt, "it is none of Caesura's");
    }
    void version(std::uint32_t& value);

    bool good() { return !ended() && error_.ok(); }
    /// After the last field: what went wrong, or is there more?
    Status end();

  private:
    bool ended() {
        if (in_.ended_early()) fail(StatusCode::insufficient_data, "it ends early");
        return in_.ended_early();
    }
    void fail(StatusCode code, const std::string& what) {
        if (error_.ok()) error_ = {code, fmt::format("{}: {}", to_string(kind_), what)};
    }
    std::size_t count(std::size_t limit, std::size_t least_bytes, const char* name);
    std::span<const std::byte> view(std::size_t limit, const char* name) {
        return in_.bytes(count(limit, 1, name));
    }
    Kind kind_;
    base::ByteReader in_;
    Status error_;
};

}  // namespace caesura::transit
