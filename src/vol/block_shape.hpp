// The chunk shape of a dataset that becomes blocks.
#pragma once

#include "caesura/base.hpp"

namespace caesura::vol {

struct ShapeFacts {
    Shape dims;
    Shape most_dims;  ///< axes longer here may grow
    Shape chunk;      ///< the application's; rank 0: contiguous
    std::size_t value_bytes = 8;
    std::uint64_t chunk_bytes = 8u << 20;  ///< aimed at
    int ranks = 1;
};

/// The application's own chunk where it has a sensible size: at most 16 MiB, and at least 1 MiB or
/// what is aimed at. Smaller ones are merged, never along an axis that may grow; larger ones are
/// cut. A contiguous dataset is cut as ranks with equal slabs along the first axis would write it,
/// so that no chunk straddles two of them.
Shape block_shape(const ShapeFacts& facts);

}  // namespace caesura::vol
