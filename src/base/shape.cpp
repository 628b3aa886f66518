#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "caesura/base.hpp"

namespace caesura {

Shape::Shape(std::initializer_list<std::uint64_t> extents)
    : Shape(std::span<const std::uint64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::uint64_t> extents) {
    assert(extents.size() <= k_max_rank);
    rank_ = static_cast<int>(std::min<std::size_t>(extents.size(), k_max_rank));
    std::copy_n(extents.begin(), rank_, extents_.begin());
}

Shape Shape::filled(int rank, std::uint64_t value) {
    Shape shape;
    shape.rank_ = rank;
    std::fill_n(shape.extents_.begin(), rank, value);
    return shape;
}

std::uint64_t Shape::count() const {
    std::uint64_t product = 1;
    for (int axis = 0; axis < rank_; ++axis) product *= (*this)[axis];
    return product;
}

std::string to_string(const Shape& shape) {
    return fmt::format("[{}]", fmt::join(shape.data(), shape.data() + shape.rank(), ", "));
}

std::optional<Box> intersect(const Box& a, const Box& b) {
    if (a.offset.rank() != b.offset.rank()) return std::nullopt;
    Box common{a.offset, a.extent};
    for (int axis = 0; axis < a.offset.rank(); ++axis) {
        const std::uint64_t begin = std::max(a.offset[axis], b.offset[axis]);
        const std::uint64_t end =
            std::min(a.offset[axis] + a.extent[axis], b.offset[axis] + b.extent[axis]);
        if (begin >= end) return std::nullopt;
        common.offset[axis] = begin;
        common.extent[axis] = end - begin;
    }
    return common;
}

std::string to_string(const Box& box) {
    return fmt::format("offset {} extent {}", to_string(box.offset), to_string(box.extent));
}

namespace {

// Values between two neighbours along each axis of a dense array of this extent.
Shape strides_of(const Shape& extent) {
    Shape strides = Shape::filled(extent.rank(), 1);
    for (int axis = extent.rank() - 2; axis >= 0; --axis)
        strides[axis] = strides[axis + 1] * extent[axis + 1];
    return strides;
}

std::uint64_t index_of(const Shape& position, const Box& box, const Shape& strides) {
    std::uint64_t index = 0;
    for (int axis = 0; axis < position.rank(); ++axis)
        index += (position[axis] - box.offset[axis]) * strides[axis];
    return index;
}

}  // namespace

void copy_box(const Box& part, const Box& source_box, const std::byte* source,
              const Box& target_box, std::byte* target, std::size_t value_bytes) {
    const int rank = part.offset.rank();
    if (part.extent.count() == 0) return;
    if (rank == 0) {
        std::memcpy(target, source, value_bytes);
        return;
    }
    const Shape source_strides = strides_of(source_box.extent);
    const Shape target_strides = strides_of(target_box.extent);
    // Rows along the last axis are contiguous in both; axes that are whole in both boxes join them.
    int row_axis = rank - 1;
    std::uint64_t row = part.extent[row_axis];
    while (row_axis > 0 && part.extent[row_axis] == source_box.extent[row_axis] &&
           part.extent[row_axis] == target_box.extent[row_axis]) {
        --row_axis;
        row *= part.extent[row_axis];
    }
    Shape position = part.offset;
    std::uint64_t from = index_of(position, source_box, source_strides);
    std::uint64_t to = index_of(position, target_box, target_strides);
    for (;;) {
        std::memcpy(target + to * value_bytes, source + from * value_bytes, row * value_bytes);
        int axis = row_axis - 1;
        for (; axis >= 0; --axis) {
            from += source_strides[axis];
            to += target_strides[axis];
            if (++position[axis] < part.offset[axis] + part.extent[axis]) break;
            position[axis] = part.offset[axis];
            from -= part.extent[axis] * source_strides[axis];
            to -= part.extent[axis] * target_strides[axis];
        }
        if (axis < 0) return;
    }
}

const std::byte* dense_part(const Box& part, const Box& array_box, const std::byte* array,
                            std::size_t value_bytes) {
    std::uint64_t first = 0;
    bool dense = true;
    for (int axis = 0; axis < part.extent.rank(); ++axis) {
        first = first * array_box.extent[axis] + (part.offset[axis] - array_box.offset[axis]);
        if (axis > 0) dense &= part.extent[axis] == array_box.extent[axis];
    }
    return dense ? array + first * value_bytes : nullptr;
}

}  // namespace caesura
