// Sections of values stored as they are and of where they lie; and of bit masks.
//
// Invariants:
//  - Positions ascend strictly; they are stored as differences, so that a stretch of fill values
//    costs next to nothing.
//  - Readers allocate no more than the count that the caller has checked.
#pragma once

#include <span>
#include <vector>

#include "codec/frame/lossless.hpp"

namespace caesura::codec {

/// @param positions  strictly ascending.
void pack_positions(std::span<const std::uint32_t> positions, LosslessPacker& packer, Output& out);
/// `count` positions below `limit`. Errors: corrupt. Throws std::bad_alloc.
Status unpack_positions(std::span<const std::byte> section, std::size_t count, std::uint64_t limit,
                        LosslessUnpacker& unpacker, std::vector<std::uint32_t>& positions);

template <class T>
void pack_values(std::span<const T> values, LosslessPacker& packer, Output& out) {
    if (!values.empty()) packer.pack(std::as_bytes(values), sizeof(T), out);
}

/// `count` values. Errors: corrupt. Throws std::bad_alloc.
template <class T>
Status unpack_values(std::span<const std::byte> section, std::size_t count,
                     LosslessUnpacker& unpacker, std::vector<T>& values) {
    values.resize(count);
    return unpacker.unpack(section, sizeof(T), std::as_writable_bytes(std::span(values)));
}

}  // namespace caesura::codec
