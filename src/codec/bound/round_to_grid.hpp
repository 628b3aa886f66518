// Rounding values to a grid of the bound's size, so that a lossless filter finds zeros to squeeze.
//
// Invariants:
//  - The grid's step is a power of two not above twice the bound: every grid value is a float with
//    a short mantissa, and no value moves by more than the bound.
//  - NaN, infinities and values too large for the grid to matter stay as they are.
#pragma once

#include <span>

#include "caesura/base.hpp"

namespace caesura::codec {

/// The grid's step for an absolute bound; 0 where no step can be used (the bound is below the
/// type's smallest value, or so large that the arithmetic would overflow): values stay exact.
double grid_step(double bound, DType dtype);

/// Round a dense block in place. step: from grid_step, > 0. About 4 GB/s per core.
/// Assumes: the thread rounds to nearest (the default of every system).
void round_to_grid(std::span<std::byte> block, DType dtype, double step);

}  // namespace caesura::codec
