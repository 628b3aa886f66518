#include "read/chunk_layout.hpp"

#include <algorithm>

namespace caesura::read {
namespace {

/// The position of a row-major number.
Shape position_of(std::uint64_t number, const Shape& extent) {
    Shape position = extent;
    for (int axis = extent.rank() - 1; axis >= 0; --axis) {
        position[axis] = number % extent[axis];
        number /= extent[axis];
    }
    return position;
}

}  // namespace

ChunkLayout ChunkLayout::of(const Shape& shape, const Shape& chunk) {
    ChunkLayout layout{shape, chunk, shape};
    for (int axis = 0; axis < shape.rank(); ++axis)
        layout.grid[axis] = shape[axis] / chunk[axis] + (shape[axis] % chunk[axis] != 0);
    return layout;
}

Box ChunkLayout::whole(std::uint64_t number) const {
    Box box{position_of(number, grid), chunk};
    for (int axis = 0; axis < chunk.rank(); ++axis) box.offset[axis] *= chunk[axis];
    return box;
}

Box ChunkLayout::inside(std::uint64_t number) const {
    Box box = whole(number);
    for (int axis = 0; axis < chunk.rank(); ++axis)
        box.extent[axis] = std::min(chunk[axis], shape[axis] - box.offset[axis]);
    return box;
}

TouchedChunks::TouchedChunks(const ChunkLayout& layout, const Box& box)
    : grid_(layout.grid), first_(box.offset), extent_(box.extent) {
    for (int axis = 0; axis < grid_.rank(); ++axis) {
        const std::uint64_t chunk = layout.chunk[axis];
        first_[axis] = box.offset[axis] / chunk;
        if (box.extent[axis] == 0) return;  // touches none
        extent_[axis] = (box.offset[axis] + box.extent[axis] - 1) / chunk - first_[axis] + 1;
    }
    count_ = extent_.count();
}

std::uint64_t TouchedChunks::operator[](std::uint64_t i) const {
    const Shape position = position_of(i, extent_);
    std::uint64_t number = 0;
    for (int axis = 0; axis < grid_.rank(); ++axis)
        number = number * grid_[axis] + first_[axis] + position[axis];
    return number;
}

Shape chunk_of_dense(const Shape& shape, std::size_t value_bytes, std::uint64_t most_bytes) {
    Shape chunk = Shape::filled(shape.rank(), 1);
    std::uint64_t bytes = value_bytes;  // of what is chosen so far
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const std::uint64_t most = std::max<std::uint64_t>(1, most_bytes / bytes);
        chunk[axis] = std::clamp<std::uint64_t>(shape[axis], 1, most);
        if (chunk[axis] < shape[axis]) break;  // a stretch ends inside this axis
        bytes *= chunk[axis];
    }
    return chunk;
}

std::optional<std::uint64_t> array_bytes(const Shape& shape, std::size_t value_bytes) {
    std::uint64_t bytes = value_bytes;
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) return std::nullopt;
    return bytes;
}

}  // namespace caesura::read
