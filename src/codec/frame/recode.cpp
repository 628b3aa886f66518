#include "codec/frame/recode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/short_float.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint32_t k_sign = 0x8000;

/// Bits of numbers in the numbers' order: neighbours differ little, on both sides of 0.
std::uint16_t ordered(std::uint32_t bits) {
    return static_cast<std::uint16_t>((bits & k_sign) != 0 ? ~bits : bits | k_sign);
}
std::uint16_t unordered(std::uint32_t order) {
    return static_cast<std::uint16_t>((order & k_sign) != 0 ? order & ~k_sign : ~order);
}

template <class Change>
void change_each(std::span<const std::byte> from, std::span<std::byte> to, Change change) {
    for (std::size_t at = 0; at + sizeof(std::uint16_t) <= from.size();
         at += sizeof(std::uint16_t)) {
        std::uint16_t word;
        std::memcpy(&word, from.data() + at, sizeof word);
        word = change(word);
        std::memcpy(to.data() + at, &word, sizeof word);
    }
}

/// To the nearest value, but what becomes 0 is +0: a +0 that was decoded as a little less than 0
/// must not come back as -0. One that was -0 is exactly that as a float32.
template <class Short>
void narrow_to(std::span<const std::byte> wide, std::span<std::byte> values) {
    constexpr std::uint32_t k_minus_zero = 0x80000000U;
    for (std::size_t i = 0; i < values.size() / sizeof(Short); ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, wide.data() + i * sizeof bits, sizeof bits);
        auto value = base::narrow_bits<Short>(bits);
        const bool is_zero = (value.bits & ~k_sign) == 0;
        if (is_zero && bits != k_minus_zero) value.bits = 0;
        std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
    }
}

struct Magnitudes {
    float largest = 0;
    bool subnormal = false;  ///< are there such of the type, other than 0?
};

Magnitudes magnitudes_of(std::span<const float> wide, DType dtype) {
    const auto least_normal =
        static_cast<float>(std::ldexp(1.0, base::format_of(dtype).lowest_exponent));
    Magnitudes found;
    for (const float value : wide) {
        const float magnitude = std::abs(value);
        // False for NaN.
        if (magnitude <= std::numeric_limits<float>::max())
            found.largest = std::max(found.largest, magnitude);
        found.subnormal |= magnitude < least_normal && magnitude > 0.0F;
    }
    return found;
}

/// From one value of the type to the next, near `magnitude`.
double spacing_at(double magnitude, DType dtype) {
    const base::ShortFormat format = base::format_of(dtype);
    const double largest = std::min(magnitude, format.largest);
    const int exponent = largest > 0 ? std::ilogb(largest) : format.lowest_exponent;
    return std::ldexp(1.0, std::max(exponent, format.lowest_exponent) - format.mantissa_bits);
}

}  // namespace

std::vector<std::byte> code_as(std::span<const std::byte> values, DType dtype, bool widened) {
    std::vector<std::byte> coded(widened ? values.size() * 2 : values.size());
    if (!is_short_float(dtype))
        std::copy(values.begin(), values.end(), coded.begin());
    else if (widened)
        base::widen(values, dtype, coded.data());
    else
        change_each(values, coded, ordered);
    return coded;
}

void decode_as(std::span<const std::byte> coded, DType dtype, bool widened,
               std::span<std::byte> values) {
    if (!is_short_float(dtype))
        std::copy(coded.begin(), coded.end(), values.begin());
    else if (widened)
        base::for_short_float(dtype, [&]<class Short>(Short) { narrow_to<Short>(coded, values); });
    else
        change_each(coded, values, unordered);
}

// A value x of the type, decoded as y and rounded to R(y), which is as near to y as any value of
// the type, x among them: |R(y) - x| <= 2 |y - x|. So half the bound always serves. Where values
// lie denser than the bound, |R(y) - y| is at most half their spacing, and more is left.
ErrorBound bound_before_rounding(const ErrorBound& bound, std::span<const float> wide,
                                 DType dtype) {
    const Magnitudes found = magnitudes_of(wide, dtype);
    const double half = bound.value / 2;
    // A hair less, for the rounding of these very sums.
    constexpr double k_less = 1.0 - 1e-12;
    const int mantissa = base::format_of(dtype).mantissa_bits;
    if (!(half > 0)) return lossless();
    if (bound.kind == ErrorBound::Kind::pointwise_relative) {
        const double rounding = std::ldexp(1.0, -mantissa - 1);
        // No normal value has another one so near.
        if (bound.value < rounding && !found.subnormal) return lossless();
        const double left = (bound.value - rounding) / (1 + rounding) * k_less;
        return pointwise_relative(found.subnormal ? half : std::max(half, left));
    }
    const double spacing = spacing_at(static_cast<double>(found.largest) + bound.value, dtype);
    return absolute(std::max(half, (bound.value - spacing / 2) * k_less));
}

}  // namespace caesura::codec
