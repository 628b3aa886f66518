// Values to a chunk that may pass the filter any number of times, with parts of it written anew in
// between, and still holds every value to its bound.
//
// How: all values that decoding gives lie on a grid far finer than the bound. Where chunks have
// been decoded, values on that grid may be old ones, and come back bit for bit; the others are new.
//  - Few may be old: the codec takes the others as ever, and the old are kept beside its frame.
//  - Many are, or the chunk's second half has not been written yet: all values go on a grid that
//  old
//    ones lie on, and the codec makes of it what it can. A new value moves by half of its step.
// Relative and PSNR bounds are of the range of all values but the dataset's fill value, which comes
// back bit for bit.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hdf5/filter/filter.hpp"
#include "hdf5/filter/grid.hpp"

namespace caesura::hdf5 {

/// @param settings  complete, of floating point, with a bound and a fill value.
/// @param values    of `dtype`, as this machine has them. @param shape  as the codec takes it.
/// @param decoded   the finest grid of all chunks that this process has decoded; nullopt: none.
Result<std::vector<std::byte>> encode_repeatable(const Settings& settings, DType dtype,
                                                 const Shape& shape,
                                                 std::span<const std::byte> values,
                                                 std::optional<Fineness> decoded);

/// Round what was decoded to the grid of its chunk. @param values  of `dtype`.
void round_decoded(DType dtype, const Grid& grid, std::span<std::byte> values);

}  // namespace caesura::hdf5
