// Types that are coded as another one: boolean as uint8, float16 and bfloat16 as float32 or as
// integers that are in the order of the numbers.
//
// Invariants:
//  - decode_as(code_as(x)) is x bit for bit.
//  - Neither zero becomes the other: what decode_as() rounds to 0 is +0, but for -0.
//  - What is off by at most bound_before_rounding() as a float32 is off by no more than the bound
//    after it was rounded to the type.
#pragma once

#include <span>
#include <vector>

#include "caesura/codec.hpp"

namespace caesura::codec {

constexpr bool is_recoded(DType dtype) { return dtype == DType::boolean || is_short_float(dtype); }
/// @param widened  values of 16 bits are coded as float32, else as uint16.
constexpr DType coded_type(DType dtype, bool widened) {
    if (!is_short_float(dtype)) return DType::uint8;
    return widened ? DType::float32 : DType::uint16;
}

/// @param values  of the type, any alignment.
std::vector<std::byte> code_as(std::span<const std::byte> values, DType dtype, bool widened);
/// The inverse, which rounds what is no value of the type. @param coded  any alignment.
void decode_as(std::span<const std::byte> coded, DType dtype, bool widened,
               std::span<std::byte> values);

/// What float32 values may be off by, that values of the type are off by no more than `bound`:
/// absolute or pointwise_relative, or lossless where the type is too coarse for it.
/// @param wide  float32 values of which each is one of the type; aligned.
/// @param bound  absolute or pointwise_relative.
ErrorBound bound_before_rounding(const ErrorBound& bound, std::span<const float> wide, DType dtype);

}  // namespace caesura::codec
