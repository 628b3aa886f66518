#include "writer/partial_layout.hpp"

#include <algorithm>

#include "writer/chunk_pieces.hpp"

namespace caesura::writer {
namespace {

// A box that is a chunk costs a few dozen bytes of metadata and a header of its own: nothing beside
// this many.
constexpr std::uint64_t k_least_chunk_bytes = 128u << 10;

// Whole steps, doubled along the shortest axis while the chunk is below the target.
Shape grow_evenly(const Shape& step, const Shape& dims, std::size_t value_bytes,
                  std::uint64_t target_bytes) {
    Shape chunk = step;
    for (;;) {
        int shortest = -1;
        for (int axis = 0; axis < chunk.rank(); ++axis)
            if (chunk[axis] < dims[axis] && (shortest < 0 || chunk[axis] <= chunk[shortest]))
                shortest = axis;
        if (shortest < 0 || chunk.count() * value_bytes * 2 > target_bytes) return chunk;
        const std::uint64_t steps = divide_up(dims[shortest], step[shortest]) * step[shortest];
        chunk[shortest] = std::min(chunk[shortest] * 2, std::min(steps, dims[shortest]));
    }
}

// Halves along the longest axis, as long as it is even.
Shape halve(Shape chunk, std::size_t value_bytes, std::uint64_t target_bytes) {
    while (chunk.count() * value_bytes > target_bytes + target_bytes / 2) {
        int longest = 0;
        for (int axis = 1; axis < chunk.rank(); ++axis)
            if (chunk[axis] > chunk[longest]) longest = axis;
        if (chunk[longest] == 1) break;
        chunk[longest] = divide_up(chunk[longest], 2);
    }
    return chunk;
}

/// Do two boxes differ along this axis alone, the second beginning where the first ends?
bool follow(const Box& first, const Box& second, int axis) {
    for (int a = 0; a < first.offset.rank(); ++a)
        if (a != axis &&
            (first.offset[a] != second.offset[a] || first.extent[a] != second.extent[a]))
            return false;
    return first.offset[axis] + first.extent[axis] == second.offset[axis];
}

/// In an order in which boxes that may follow each other along `axis` are neighbours.
void order_along(int axis, std::vector<Box>& boxes) {
    const auto key = [axis](const Box& box) {
        std::array<std::uint64_t, 2 * k_max_rank> numbers{};
        std::size_t n = 0;
        for (int a = 0; a < box.offset.rank(); ++a) {
            if (a == axis) continue;
            numbers[n++] = box.offset[a];
            numbers[n++] = box.extent[a];
        }
        numbers[n] = box.offset[axis];
        return numbers;
    };
    std::sort(boxes.begin(), boxes.end(),
              [&](const Box& a, const Box& b) { return key(a) < key(b); });
}

}  // namespace

Shape choose_partial_chunk(const Shape& dims, std::span<const RankBox> boxes,
                           std::size_t value_bytes, std::uint64_t target_bytes) {
    const Shape fitting = fitting_chunk(dims, common_steps(dims, boxes));
    const bool boxes_are_steps = std::all_of(boxes.begin(), boxes.end(), [&](const RankBox& one) {
        for (int axis = 0; axis < dims.rank(); ++axis)
            if (one.box.extent[axis] > fitting[axis]) return false;
        return true;
    });
    const std::uint64_t bytes = fitting.count() * value_bytes;
    if (bytes > target_bytes) return halve(fitting, value_bytes, target_bytes);
    if (boxes_are_steps && bytes >= std::min(k_least_chunk_bytes, target_bytes)) return fitting;
    return grow_evenly(fitting, dims, value_bytes, target_bytes);
}

Result<Layout> make_partial_layout(const std::string& name, const Shape& dims,
                                   std::vector<RankBox> boxes, std::size_t value_bytes,
                                   std::uint64_t target_bytes, int rank) {
    Layout layout;
    layout.dims = dims;
    layout.boxes = std::move(boxes);
    layout.chunk = choose_partial_chunk(dims, layout.boxes, value_bytes, target_bytes);
    const ChunkGrid grid(dims, layout.chunk);
    layout.n_chunks = grid.counts.count();
    auto chunks = pieces_of(grid, layout.boxes);
    layout.n_touched = chunks.size();
    for (auto& [number, chunk] : chunks) {
        if (Status status = check_apart(name, chunk, layout.boxes); !status.ok()) return status;
        const Shape valid = grid.inside(chunk.box);
        const std::uint64_t put = chunk.value_count();
        OwnedChunk owned{number, chunk.box, valid, std::move(chunk.pieces)};
        owned.inside = valid;
        owned.covered = put == valid.count();
        give_to_owner(layout, std::move(owned), rank);
    }
    return layout;
}

std::vector<Box> joined(std::vector<Box> boxes) {
    if (boxes.empty()) return boxes;
    for (int axis = boxes[0].offset.rank() - 1; axis >= 0; --axis) {
        order_along(axis, boxes);
        std::vector<Box> longer;
        for (const Box& box : boxes) {
            if (!longer.empty() && follow(longer.back(), box, axis))
                longer.back().extent[axis] += box.extent[axis];
            else
                longer.push_back(box);
        }
        boxes = std::move(longer);
    }
    return boxes;
}

}  // namespace caesura::writer
