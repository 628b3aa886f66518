// Places for a sample: a fixed low-discrepancy sequence.
//
// Invariants:
//  - The same block gives the same sample everywhere and in every dump, so that what the sample
//    leaves out is nearly the same from dump to dump, and can be learned.
//  - Unlike a grid's, its places do not resonate with periodic data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "caesura/base.hpp"

namespace caesura::predict {

/// Coordinate on `axis` (of `rank`) of place i, in 0..choices - 1. choices >= 1.
/// Source: Roberts, "The unreasonable effectiveness of quasirandom sequences" (2018), R_d: steps of
/// g^-1, g^-2, ... where g is the root of x^(rank + 1) = x + 1.
inline std::uint64_t place(std::uint64_t i, int axis, int rank, std::uint64_t choices) {
    constexpr double k_steps[k_max_rank][k_max_rank] = {
        {0.6180339887498949},
        {0.7548776662466927, 0.5698402909980532},
        {0.8191725133961645, 0.6710436067037893, 0.5497004779019703},
        {0.8566748838545029, 0.7338918566271260, 0.6287067210378087, 0.5385972572236101}};
    const double turn = 0.5 + k_steps[rank - 1][axis] * static_cast<double>(i + 1);
    const double place = (turn - std::floor(turn)) * static_cast<double>(choices);
    return std::min(choices - 1, static_cast<std::uint64_t>(place));
}

}  // namespace caesura::predict
