// Parts that are cut in two along an axis, each half a part with settings of its own, and so on:
// where regions of a slab ask for different predictors.
//
//     kind (1) | axis (1) | extent of the first half along it (8) | bytes of the first half's part
//     (8) | the first half's part | the second half's part
//
// Invariants:
//  - Halves tile the slab; the last level's parts are of another kind.
//  - Reading is safe on any bytes: halves are not empty, and no cut is deeper than k_deepest_split.
#pragma once

#include "codec/frame/frame.hpp"

namespace caesura::codec {

inline constexpr std::size_t k_split_head_bytes = 18;
inline constexpr int k_deepest_split = 24;

/// A region of a slab and its part, which is not cut further.
struct Region {
    Box box;
    std::span<const std::byte> part;
};

bool is_split(std::span<const std::byte> part);

/// The regions of a part, in the order in which they are stored; of one that is not cut, itself.
/// Errors: corrupt.
Result<std::vector<Region>> regions_of(std::span<const std::byte> part, const Shape& shape);

/// Append a part of two halves. @param extent  of the first one along the axis.
void append_split(int axis, std::uint64_t extent, std::span<const std::byte> first,
                  std::span<const std::byte> second, Output& out);

}  // namespace caesura::codec
