// An array of any strides, which values of a box go to: C or Fortran order, padded, or a part of a
// larger one.
#pragma once

#include <span>

#include "caesura/base.hpp"

namespace caesura::read {

struct StridedArray {
    std::byte* data = nullptr;  ///< the first value of the box
    Shape stride_bytes;         ///< from one value to the next, along each axis
};

/// Strides of a dense array in C order.
Shape dense_strides(const Shape& extent, std::size_t value_bytes);

/// Errors: invalid_argument (another number of axes, values that would overlap, values beyond the
/// memory; each with its numbers).
Status check_strides(const Shape& extent, const Shape& stride_bytes, std::size_t value_bytes,
                     std::uint64_t memory_bytes);

/// Copies `part` from a dense array that holds `source_box` to one whose first value is that of
/// `target_box`. `part` lies inside both.
void copy_strided(const Box& part, const Box& source_box, const std::byte* source,
                  const Box& target_box, const StridedArray& target, std::size_t value_bytes);

/// One value to all places of a box that begins at the array's first value.
void fill_strided(const Shape& extent, const StridedArray& target,
                  std::span<const std::byte> value);

}  // namespace caesura::read
