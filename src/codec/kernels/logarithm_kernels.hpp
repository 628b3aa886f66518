// Vector kernels of the point-wise relative bound: x -> sign, log2|x|, and back.
//
// Invariants:
//  - The same bits on every instruction set: IEEE operations in a fixed order, polynomials of our
//    own. The caller holds a FloatEnvironment.
//  - Masks hold one bit per value, 16 values to a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caesura::codec {

inline constexpr std::size_t k_mask_values = 16;

struct LogarithmMasks {
    std::uint16_t* negative;    ///< sign bit set (of -0 and NaN too)
    std::uint16_t* zero;        ///< +0 or -0
    std::uint16_t* not_finite;  ///< infinite or NaN
};

/// y[i] = log2|x[i]| - centre for finite x[i] other than 0; unspecified finite values elsewhere.
/// Bits past n are 0. Error: at most 4 units in the last place of 1, and half a unit of y.
void forward_logarithm(const float* x, std::size_t n, int centre, float* y,
                       const LogarithmMasks& masks);
void forward_logarithm(const double* x, std::size_t n, int centre, double* y,
                       const LogarithmMasks& masks);

/// x[i] = 2^(y[i] + centre), 0 where the bit of `zero` is set, negated where that of `negative` is.
/// Null masks: no bit set. x may be y. Any y is safe.
void backward_logarithm(const float* y, std::size_t n, int centre, const std::uint16_t* negative,
                        const std::uint16_t* zero, float* x);
void backward_logarithm(const double* y, std::size_t n, int centre, const std::uint16_t* negative,
                        const std::uint16_t* zero, double* x);

/// Is |x - y| <= share * |x| for all of them? In double; false where x or y is NaN, or x infinite.
bool keeps_share(const float* x, const float* y, std::size_t n, double share);
bool keeps_share(const double* x, const double* y, std::size_t n, double share);

}  // namespace caesura::codec
