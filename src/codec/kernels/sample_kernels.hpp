// Loops over sampled rows: what the predictors would do, near enough to choose their settings.
//
// The same results on every instruction set. No alignment asked for but of codes (64 bytes).
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/bound/quantiser.hpp"

namespace caesura::codec {

/// How a row of values is predicted from rows at distances 1 and 3 on either side.
template <class T>
struct SampledRow {
    const T* target;
    const T* near_below;
    const T* near_above;
    const T* far_below;
    const T* far_above;
    std::size_t n;
};

/// Codes of a row by cubic (or linear) interpolation with feedback from, and to, `residual` (n
/// values: reconstruction - interpolation).
template <class T>
void sample_interpolation(const SampledRow<T>& row, T step, bool cubic, T feedback, T* residual,
                          std::uint32_t* codes);

/// Every `apart`-th of values -> lattice points: what reconstructed neighbours look like. In place,
/// or to elsewhere; n of them are written, and nothing behind the last one is read.
template <class T>
void sample_lattice(const T* values, std::size_t apart, std::size_t n, T step, T* out);

/// The largest magnitude below `limit`; 0 if there is none.
template <class T>
T sample_largest(const T* values, std::size_t n, T limit);

/// values -> lattice indices; one that must be stored exactly repeats the index before it. Returns
/// how many those are.
template <class T>
std::size_t sample_indices(const T* values, std::size_t n, const Quantiser<T>& quantiser,
                           std::int32_t* indices);

/// a - b, wrapping, one after the other; `out` may be `a` or `b`.
void sample_difference(const std::int32_t* a, const std::int32_t* b, std::size_t n,
                       std::int32_t* out);
/// Zigzag codes of the last n of each row's n + 1 integers, or of their differences along x.
void sample_codes(const std::int32_t* values, std::size_t rows, std::size_t n, bool along_x,
                  std::uint32_t* codes);
/// Of each run of n integers: the lengths in bits of its differences, summed up.
/// @param values  k_code_slack more may be read.
void sample_activity(const std::int32_t* values, std::size_t runs, std::size_t n,
                     std::uint32_t* activity);

}  // namespace caesura::codec
