// Floating point in 16 bits: float16 (IEEE half) and bfloat16, to float32 and back.
//
// Invariants:
//  - widen() is exact: float32 has every value of both types. A NaN keeps its payload, as the upper
//    bits of float32's.
//  - narrow() rounds to the nearest value, ties to even, and undoes widen() bit for bit. What is
//    finite stays finite: beyond the largest value it becomes that one. So the result is never
//    farther from any value of the type than twice as far as what was rounded.
//  - No arithmetic of NaNs: a signalling one stays as it is.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

#include "caesura/base.hpp"

namespace caesura::base {

/// What a type of 16 bits is made of.
struct ShortFormat {
    int mantissa_bits;    // those that are stored
    int lowest_exponent;  // of the smallest normal value, a power of two
    double largest;
};
constexpr ShortFormat format_of(DType dtype) {
    if (dtype == DType::float16) return {10, -14, 65504.0};
    return {7, -126, 0x1.fep127};
}

constexpr std::uint32_t k_float_infinity = 0x7f800000U;

/// Bits of a float32.
inline std::uint32_t widen_bits(Float16 half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    const std::uint32_t rest = half.bits & 0x7fffU;
    if (rest >= 0x7c00U) return sign | k_float_infinity | (rest & 0x3ffU) << 13;
    if (rest >= 0x400U) return sign | ((rest << 13) + (112U << 23));
    return sign | std::bit_cast<std::uint32_t>(static_cast<float>(rest) * 0x1p-24F);
}
inline std::uint32_t widen_bits(Bfloat16 value) {
    return static_cast<std::uint32_t>(value.bits) << 16;
}

/// The nearest value. @param bits  of a float32.
template <class Short>
Short narrow_bits(std::uint32_t bits) {
    constexpr bool k_half = std::is_same_v<Short, Float16>;
    constexpr std::uint32_t k_left_out = k_half ? 13 : 16;  // bits of the mantissa
    constexpr std::uint32_t k_infinity = k_half ? 0x7c00U : 0x7f80U;
    const auto make = [sign = bits >> 16 & 0x8000U](std::uint32_t rest) {
        return Short{static_cast<std::uint16_t>(sign | rest)};
    };
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude >= k_float_infinity) {
        const std::uint32_t payload = (magnitude & 0x7fffffU) >> k_left_out;
        const bool lost = magnitude != k_float_infinity && payload == 0;
        return make(k_infinity | payload | (lost ? 1U : 0U));
    }
    if (k_half && magnitude < 0x38800000U) {  // multiples of 2^-24, as float32 has them from 0.5 on
        const float lifted = std::bit_cast<float>(magnitude) + 0.5F;
        return make(std::bit_cast<std::uint32_t>(lifted) - std::bit_cast<std::uint32_t>(0.5F));
    }
    const std::uint32_t rebased = k_half ? magnitude - (112U << 23) : magnitude;
    const std::uint32_t even = rebased >> k_left_out & 1U;
    const std::uint32_t rounded = (rebased + (1U << (k_left_out - 1)) - 1U + even) >> k_left_out;
    return make(rounded < k_infinity ? rounded : k_infinity - 1U);
}

inline float to_float(Float16 value) { return std::bit_cast<float>(widen_bits(value)); }
inline float to_float(Bfloat16 value) { return std::bit_cast<float>(widen_bits(value)); }
template <class Short>
Short to_short(float value) {
    return narrow_bits<Short>(std::bit_cast<std::uint32_t>(value));
}

/// Calls `work` with a value of the type.
template <class Work>
auto for_short_float(DType dtype, Work work) {
    return dtype == DType::float16 ? work(Float16{}) : work(Bfloat16{});
}

/// @param values  of a short type, any alignment. @param wide  as many float32, any alignment.
inline void widen(std::span<const std::byte> values, DType dtype, std::byte* wide) {
    for_short_float(dtype, [&]<class Short>(Short value) {
        const std::size_t n = values.size() / sizeof value;
        for (std::size_t i = 0; i < n; ++i) {
            std::memcpy(&value, values.data() + i * sizeof value, sizeof value);
            const std::uint32_t bits = widen_bits(value);
            std::memcpy(wide + i * sizeof bits, &bits, sizeof bits);
        }
    });
}

/// The other way round.
inline void narrow(const std::byte* wide, DType dtype, std::span<std::byte> values) {
    for_short_float(dtype, [&]<class Short>(Short value) {
        const std::size_t n = values.size() / sizeof value;
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, wide + i * sizeof bits, sizeof bits);
            value = narrow_bits<Short>(bits);
            std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
        }
    });
}

}  // namespace caesura::base
