#include "writer/chunk_grid.hpp"

#include <algorithm>

namespace caesura::writer {

ChunkGrid::ChunkGrid(const Shape& array_dims, const Shape& chunk_extent)
    : dims(array_dims), chunk(chunk_extent), counts(array_dims) {
    for (int axis = 0; axis < dims.rank(); ++axis)
        counts[axis] = dims[axis] / chunk[axis] + (dims[axis] % chunk[axis] != 0 ? 1 : 0);
}

Box ChunkGrid::box_at(const Shape& position) const {
    Box box{position, chunk};
    for (int axis = 0; axis < position.rank(); ++axis)
        box.offset[axis] = position[axis] * chunk[axis];
    return box;
}

Shape ChunkGrid::inside(const Box& chunk_box) const {
    Shape extent = chunk_box.extent;
    for (int axis = 0; axis < dims.rank(); ++axis)
        extent[axis] = std::min(extent[axis], dims[axis] - chunk_box.offset[axis]);
    return extent;
}

void ChunkGrid::for_chunks(const Box& box,
                           const std::function<void(std::uint64_t, const Box&)>& visit) const {
    const int rank = dims.rank();
    if (box.extent.count() == 0) return;
    Shape first = box.offset, last = box.offset;
    for (int axis = 0; axis < rank; ++axis) {
        first[axis] = box.offset[axis] / chunk[axis];
        last[axis] = (box.offset[axis] + box.extent[axis] - 1) / chunk[axis];
    }
    Shape position = first;
    for (;;) {
        std::uint64_t number = 0;
        for (int axis = 0; axis < rank; ++axis) number = number * counts[axis] + position[axis];
        visit(number, box_at(position));
        int axis = rank - 1;
        for (; axis >= 0; --axis) {
            if (++position[axis] <= last[axis]) break;
            position[axis] = first[axis];
        }
        if (axis < 0) return;
    }
}

}  // namespace caesura::writer
