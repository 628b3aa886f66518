// The chunk shape of a dataset that becomes blocks.
#pragma once

#include <span>
#include <vector>

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
/// equal slabs along the first axis: no chunk straddles two of them, unless they are below 16 KiB.
Shape block_shape(const ShapeFacts& facts);

/// How many values a chunk has of a dataset of one axis that is a sequence of arrays.
///
/// @param boxes       in each of them as many arrays of its shape as there are components.
/// @param components  >= 1.
/// Arrays of one size: a chunk is one of them; small ones (below 256 KiB and a quarter of
/// `chunk_bytes`) are stacked, those above 16 MiB cut into slices. Others: near `chunk_bytes` or
/// half a rank's share, where the fewest arrays are cut.
std::uint64_t sequence_chunk(std::span<const Shape> boxes, std::uint64_t components,
                             std::size_t value_bytes, std::uint64_t chunk_bytes, int ranks);

/// The shapes of boxes in C order, from their corners.
///
/// @param corners  of each box: the lowest cell, then the highest, `axes` numbers each; the first
///                 axis is the one that runs fastest in memory.
/// @param most     cells of a box.
/// @return  empty: they are no boxes.
std::vector<Shape> shapes_of(std::span<const std::int32_t> corners, int axes, std::uint64_t most);

}  // namespace caesura::vol
