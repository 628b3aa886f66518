// The lattice on which a block's values are rounded.
//
// Invariants:
//  - step is finite and at least the type's smallest normal, so that 1/step is finite too.
//  - bound never exceeds the user's bound. Predictors hold every value to |v - rec| < bound, with
//    the difference rounded to T: rounding is monotone, so a true difference of bound or more never
//    rounds to less than bound. The test is safe without any wider arithmetic.
#pragma once

#include <span>

namespace caesura::codec {

/// The lattice of a block. T is float or double.
template <class T>
struct Quantiser {
    T step = 0;   ///< distance of neighbouring lattice points, > 0
    T bound = 0;  ///< the user's bound rounded down to T; every value is held to it
};

/// step = 2 * bound, shrunk so that rounding the block's largest finite magnitude to T still fits
/// (by an eighth of the bound at most: past that, values are simply stored exactly).
/// bound may be so small that no lattice is possible; the step is then the smallest usable one.
/// @param sample  of the block's values: a magnitude it misses costs a few exact values, not the
///                bound.
template <class T>
Quantiser<T> choose_quantiser(std::span<const T> sample, double bound);

}  // namespace caesura::codec
