// Vector kernels over the values of a slab: range and magnitudes.
#pragma once

#include <cstddef>

namespace caesura::codec {

/// Any alignment of the pointers below is fine.
template <class T>
struct Extremes {
    T lowest;   ///< +infinity if no value counts
    T highest;  ///< -infinity if no value counts
};

/// Over the finite values.
Extremes<float> finite_extremes(const float* values, std::size_t n);
Extremes<double> finite_extremes(const double* values, std::size_t n);

/// Of |x|, over the values that are neither 0 nor NaN nor infinite.
Extremes<float> magnitude_extremes(const float* values, std::size_t n);
Extremes<double> magnitude_extremes(const double* values, std::size_t n);

}  // namespace caesura::codec
