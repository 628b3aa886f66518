// Where chunks lie in an array: plain arithmetic on shapes.
#pragma once

#include <functional>

#include "caesura/base.hpp"

namespace caesura::writer {

struct ChunkGrid {
    ChunkGrid(const Shape& array_dims, const Shape& chunk_extent);

    Shape dims, chunk;
    Shape counts;  ///< chunks per axis, those at the array's edges included

    /// The full chunk at a place of the grid; may reach beyond the array.
    Box box_at(const Shape& position) const;
    /// Extent of the part of a full chunk that lies inside the array.
    Shape inside(const Box& chunk_box) const;
    /// Visit every chunk that a box touches, row-major: its row-major number, and where it is.
    void for_chunks(
        const Box& box,
        const std::function<void(std::uint64_t number, const Box& chunk_box)>& visit) const;
};

}  // namespace caesura::writer
