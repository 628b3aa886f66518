// Blocks of complex numbers, as a codec of their real and imaginary parts.
//
// Invariants:
//  - A value's two parts lie side by side, as in memory: the chunks of the codec below have one
//    axis more, of extent 2.
//  - Each part is held to the bound by itself, and EncodedBlock::max_error is the larger of what
//    the two are off by. So a number is off by at most the square root of 2 times the bound.
#pragma once

#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

/// @param inner   of the parts: chunks of `chunk` and an axis of 2.
/// @param by_part  `inner` takes several arrays (encode_parts): one of all real parts, one of all
///                 imaginary ones.
std::unique_ptr<BlockCodec> make_complex_codec(std::unique_ptr<BlockCodec> inner, DType dtype,
                                               const Shape& chunk, const ErrorBound& bound,
                                               bool by_part);
/// With the axis of the parts, of which an array has both if nothing else is said.
Shape with_parts(const Shape& shape, std::uint64_t last = 2);

}  // namespace caesura::hdf5
