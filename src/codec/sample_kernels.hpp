// Loops over sampled rows: what the predictors would do, near enough to choose their settings.
//
// The same results on every instruction set. No alignment asked for but of codes (64 bytes).
#pragma once

#include <cstddef>
#include <cstdint>

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

/// values -> lattice points: what reconstructed neighbours look like. In place.
template <class T>
void sample_lattice(T* values, std::size_t n, T step);

/// values -> lattice indices, out of range ones clamped.
template <class T>
void sample_indices(const T* values, std::size_t n, T step, std::int32_t* indices);

/// a - b, wrapping; `out` may be `a`.
void sample_difference(const std::int32_t* a, const std::int32_t* b, std::size_t n,
                       std::int32_t* out);
/// Zigzag codes of n integers, or of n differences of n + 1 neighbours.
void sample_zigzag(const std::int32_t* values, std::size_t n, std::uint32_t* codes);
void sample_zigzag_differences(const std::int32_t* values, std::size_t n, std::uint32_t* codes);

}  // namespace caesura::codec
