// Holes of an array get values that cost next to nothing.
//
// Interpolation wants what lies around them, smoothly. Coarser and coarser grids, each of every
// other value of the one before, take means of the values that are there, until one has no hole. On
// the way back each hole is interpolated from the coarser grid, and drawn to the mean of its
// neighbours. Lorenzo's differences make noise of a slope, and nothing of a row that does not
// change: there a hole repeats the value before it.
//
// Invariants:
//  - A value lies between the smallest and the largest finite one of the array; 0 if there is none.
//  - Other values do not change. Sums have a fixed order: the same bytes on every machine.
#pragma once

#include <span>

#include "codec/bound/missing.hpp"

namespace caesura::codec {

enum class HoleFilling : std::uint8_t { smooth, repeat };

/// @param values  of float32, float64, float16 or bfloat16, with the holes of `mask`; aligned.
/// Throws std::bad_alloc. The caller holds a FloatEnvironment.
void fill_holes(std::span<std::byte> values, DType dtype, const Shape& shape, const Mask& mask,
                HoleFilling how);

}  // namespace caesura::codec
