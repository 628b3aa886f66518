// What a user's bound comes to for one array: an absolute bound, a bound on logarithms, or nothing
// but exact storage.
//
// Invariants:
//  - Keeping the resolved bound keeps the user's. (PSNR: the first guess need not; see compress.)
//  - No call of a mathematical library decides a byte: powers and logarithms are series of IEEE
//    operations in a fixed order, the same on every machine.
#pragma once

#include <span>

#include "caesura/codec.hpp"

namespace caesura::codec {

/// Smallest and largest finite value of a whole array.
struct FiniteRange {
    bool any = false;  ///< is there a finite value?
    double lowest = 0.0;
    double highest = 0.0;
};

/// About memory speed per thread.
FiniteRange finite_range(std::span<const std::byte> values, DType dtype, int threads);

struct ResolvedBound {
    enum class How : std::uint8_t { exact, absolute, logarithm };
    How how = How::exact;
    /// absolute: in units of the field, exactly a value of its type; logarithm: of log2 |x|.
    double bound = 0.0;
    /// PSNR: mean of (x - x')^2 that must not be exceeded; else 0.
    double mean_square_limit = 0.0;
};

/// @param bound   one that validate() accepts.
/// @param values  the whole array.
/// @param range  finite_range() of it, or null.
ResolvedBound resolve(const ErrorBound& bound, std::span<const std::byte> values, DType dtype,
                      int threads, const FiniteRange* range = nullptr);

/// The largest value of the type that is not above `bound`; 0 if none but 0 is left. bound >= 0.
double round_down(double bound, DType dtype);

/// Sum of (x - x')^2 over values that are finite. The order of additions is fixed.
double squared_error(std::span<const std::byte> original, std::span<const std::byte> decoded,
                     DType dtype);
std::uint64_t count_finite(std::span<const std::byte> values, DType dtype);

/// log2(1 + x) for 0 <= x <= 1, and 2^x for |x| <= 1000, to about 1e-15.
double log2_1p(double x);
double power_of_2(double x);

}  // namespace caesura::codec
