// Bytes of states, results and headers: what little_endian.hpp lacks for them.
//
// Invariants:
//  - A count that is read is compared with the bytes that are left before anything is allocated
//    for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/little_endian.hpp"
#include "caesura/base.hpp"

namespace caesura::lambda {

/// Where a ByteWriter puts bytes, as many as come.
struct ByteSink {
    std::vector<std::byte> bytes;
    std::byte* room(std::size_t n) {
        bytes.resize(used + n);
        return bytes.data() + used;
    }
    void advance(std::size_t n) { used += n; }
    std::size_t size() const { return used; }
    std::size_t used = 0;
};

using Writer = base::ByteWriter<ByteSink&>;
using Reader = base::ByteReader;

inline Status cut_short(std::string_view what) {
    return {StatusCode::insufficient_data, std::string(what) + " ends early"};
}
inline Status corrupt(std::string_view what) { return {StatusCode::corrupt, std::string(what)}; }

inline void put_text(Writer& out, std::string_view text) {
    out.u32(static_cast<std::uint32_t>(text.size())).bytes(std::as_bytes(std::span(text)));
}

inline std::string get_text(Reader& in) {
    const auto bytes = in.bytes(in.u32());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A count of entries of at least `entry_bytes` each; 0, and in.ended_early(), if there is not so
/// much left.
inline std::uint64_t get_count(Reader& in, std::size_t entry_bytes) {
    const std::uint64_t count = in.u64();
    if (count <= in.rest().size() / entry_bytes) return count;
    in.bytes(in.rest().size() + std::uint64_t{1});
    return 0;
}

inline void put_shape(Writer& out, const Shape& shape) {
    out.u8(static_cast<std::uint8_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) out.u64(shape[axis]);
}

/// Rank 0 if what is read is no shape.
inline Shape get_shape(Reader& in) {
    const int rank = in.u8();
    if (rank > k_max_rank) return {};
    Shape shape = Shape::filled(rank, 0);
    for (int axis = 0; axis < rank; ++axis) shape[axis] = in.u64();
    return shape;
}

inline void put_box(Writer& out, const Box& box) {
    put_shape(out, box.offset);
    put_shape(out, box.extent);
}

inline Box get_box(Reader& in) {
    const Shape offset = get_shape(in);
    return {offset, get_shape(in)};
}

}  // namespace caesura::lambda
