// The chunk shape of a dataset that becomes blocks.
#pragma once

#include <optional>

#include "caesura/base.hpp"

namespace caesura::vol {

struct ShapeFacts {
    Shape dims;
    Shape most_dims;  ///< axes longer here may grow
    Shape chunk;      ///< the application's; rank 0: contiguous
    std::size_t value_bytes = 8;
    std::uint64_t chunk_bytes = 8u << 20;  ///< aimed at
    int ranks = 1;
    Shape wanted = {};   ///< the configuration's; of another rank: passed over
    Shape learned = {};  ///< fits the boxes in which its like was written; rank 0: none was
};

/// In this order: the chunk that the configuration wants; the application's own; one that fits what
/// its like was written in; a guess. The configuration's is taken as it is, within the dims.
///
/// The application's own chunk where it has a sensible size: at most 16 MiB, and at least 1 MiB or
/// what is aimed at. Smaller ones are merged, never along an axis that may grow; larger ones are
/// cut. Of a contiguous dataset nothing is known when it is made. The guess is that ranks write
/// equal slabs along the first axis: no chunk straddles two of them.
Shape block_shape(const ShapeFacts& facts);

/// A dataset of one axis seen as the array of more axes that an application has flattened: values
/// keep their order, chunks their numbers.
struct BoxedShape {
    Shape dims, chunk;
};

/// `count` values that are arrays of extents `box` (C order), one after the other. Chunks are whole
/// arrays; small ones (below 256 KiB and a quarter of `chunk_bytes`) are stacked, those above
/// 16 MiB cut along their first axis.
/// @return  nothing if they do not fit, or `box` has less than two axes.
std::optional<BoxedShape> boxed_shape(std::uint64_t count, const Shape& box,
                                      std::size_t value_bytes, std::uint64_t chunk_bytes);

/// The array of which a sequence of boxes, each of the same number of components, consists.
///
/// @param corners  of each box: the lowest cell, then the highest, `axes` numbers each; the first
///                 axis is the one that runs fastest in memory.
/// @param count    values of all boxes and components.
/// @return  in C order. Boxes of one size: that. Boxes that agree on some of the fast axes: these,
/// and before them the thickest slice that divides all boxes. Rank 0: they agree on nothing, or
/// have not that many values.
Shape common_box(std::span<const std::int32_t> corners, int axes, std::uint64_t count);

}  // namespace caesura::vol
