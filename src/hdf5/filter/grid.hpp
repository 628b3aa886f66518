// The grids that a decoded chunk's values lie on. They tell values that have been rounded before
// from values that are new.
//
// HDF5 passes a chunk through a filter several times: it reads, changes and writes it again. A
// filter sees values, and not which of them it has rounded already. So every value that decoding
// gives lies on a grid far finer than the bound, on which few new values lie.
//
// Invariants:
//  - rounded(rounded(v)) is rounded(v), and a coarser grid of a kind lies in every finer one.
//  - rounded(v) has no more bits than v: a value of a short type stays one.
//  - NaN, infinities and -0 stay as they are, and no other value becomes -0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "caesura/codec.hpp"

namespace caesura::hdf5 {

/// How fine a grid is: the larger the finer. Uniform grids have a step of 2^-fineness, those of a
/// point-wise bound 2^(fineness - 1) points from one power of two to the next.
using Fineness = int;
/// All values lie on this one.
inline constexpr Fineness k_finest = 4096;

struct Grid {
    enum class Kind : std::uint8_t { none = 0, uniform = 1, significant = 2 };
    Kind kind = Kind::none;  ///< none: all values are on it
    Fineness fineness = k_finest;
};

/// The grid of that fineness for what a bound makes of values of a type; the one of all values
/// where the type's own steps are no smaller.
Grid grid_of(const ErrorBound& bound, Fineness fineness, DType dtype);

/// Of float or double; the nearest point of the grid, within half its step (significant: within
/// 2^-fineness of |v|).
template <class T>
T rounded(T value, const Grid& grid);
template <class T>
void round_all(std::span<T> values, const Grid& grid);
/// Not for what is not finite.
template <class T>
bool is_on(T value, const Grid& grid) {
    return rounded(value, grid) == value;
}

/// The coarsest uniform grid that a value other than 0 lies on.
Fineness coarsest_with(double value);

extern template float rounded(float, const Grid&);
extern template double rounded(double, const Grid&);
extern template void round_all(std::span<float>, const Grid&);
extern template void round_all(std::span<double>, const Grid&);

}  // namespace caesura::hdf5
