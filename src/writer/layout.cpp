#include "writer/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "writer/chunk_pieces.hpp"

namespace caesura::writer {
namespace {

// Chunks below this make files slow; rather let chunks straddle boxes.
constexpr std::uint64_t k_min_chunk_bytes = 1u << 20;

std::uint64_t smallest_factor(std::uint64_t n) {
    for (std::uint64_t factor = 2; factor * factor <= n; ++factor)
        if (n % factor == 0) return factor;
    return n;
}

// Halve (or divide by its smallest factor) the longest axis until the chunk is small enough.
// An axis without inner edges may be cut anywhere; one with them only into whole fractions.
Shape slice(Shape chunk, const Shape& steps, std::size_t value_bytes, std::uint64_t target_bytes) {
    // Half as much again is closer to the target than half of it.
    const std::uint64_t limit = target_bytes + target_bytes / 2;
    while (chunk.count() * value_bytes > limit) {
        int longest = -1;
        for (int axis = 0; axis < chunk.rank(); ++axis)
            if (chunk[axis] > 1 && (longest < 0 || chunk[axis] > chunk[longest])) longest = axis;
        if (longest < 0) break;
        const bool free_cut = steps[longest] == 0;
        chunk[longest] = free_cut ? divide_up(chunk[longest], 2)
                                  : chunk[longest] / smallest_factor(chunk[longest]);
    }
    return chunk;
}

// Join neighbouring boxes into one chunk while they are small: from the last axis up.
Shape grow(Shape chunk, const Shape& dims, std::size_t value_bytes, std::uint64_t target_bytes) {
    for (int axis = chunk.rank() - 1; axis >= 0; --axis) {
        const std::uint64_t bytes = chunk.count() * value_bytes;
        if (bytes * 2 > target_bytes) break;
        const std::uint64_t factor =
            std::min(target_bytes / bytes, divide_up(dims[axis], chunk[axis]));
        chunk[axis] = std::min(chunk[axis] * factor, dims[axis]);
    }
    return chunk;
}

Status check_tiling(const std::string& name, const ChunkPieces& chunk, std::uint64_t valid_count,
                    const std::vector<RankBox>& boxes) {
    if (Status status = check_apart(name, chunk, boxes); !status.ok()) return status;
    const std::uint64_t covered = chunk.value_count();
    if (covered != valid_count)
        return {StatusCode::invalid_argument,
                fmt::format("field '{}': {} of {} values of the part at {} were put by no rank; "
                            "all ranks' boxes together must tile the field",
                            name, valid_count - covered, valid_count, to_string(chunk.box))};
    return {};
}

}  // namespace

Shape common_steps(const Shape& dims, std::span<const RankBox> boxes) {
    Shape steps = Shape::filled(dims.rank(), 0);
    for (const RankBox& b : boxes)
        for (int axis = 0; axis < dims.rank(); ++axis) {
            steps[axis] = std::gcd(steps[axis], b.box.offset[axis]);
            const std::uint64_t end = b.box.offset[axis] + b.box.extent[axis];
            if (end != dims[axis]) steps[axis] = std::gcd(steps[axis], end);
        }
    return steps;
}

Shape choose_chunk(const Shape& dims, std::span<const RankBox> boxes, std::size_t value_bytes,
                   std::uint64_t target_bytes) {
    const Shape steps = common_steps(dims, boxes);
    const Shape fitting = fitting_chunk(dims, steps);
    Shape largest = boxes.empty() ? dims : boxes[0].box.extent;
    for (const RankBox& b : boxes)
        if (b.box.extent.count() > largest.count()) largest = b.box.extent;

    const std::uint64_t fitting_bytes = fitting.count() * value_bytes;
    const bool boxes_are_small = largest.count() * value_bytes < k_min_chunk_bytes;
    if (fitting_bytes >= k_min_chunk_bytes) return slice(fitting, steps, value_bytes, target_bytes);
    if (boxes_are_small) return grow(fitting, dims, value_bytes, target_bytes);
    // Edges without a useful common step: chunks like the largest box, straddling where they must.
    return slice(largest, Shape::filled(dims.rank(), 0), value_bytes, target_bytes);
}

Result<Layout> make_layout(const std::string& name, const Shape& dims, std::vector<RankBox> boxes,
                           std::size_t value_bytes, std::uint64_t target_bytes, int rank) {
    const Shape chunk = choose_chunk(dims, boxes, value_bytes, target_bytes);
    return make_layout_of(name, dims, std::move(boxes), chunk, rank);
}

Result<Layout> make_layout_of(const std::string& name, const Shape& dims,
                              std::vector<RankBox> boxes, const Shape& chunk_shape, int rank) {
    Layout layout;
    layout.dims = dims;
    layout.boxes = std::move(boxes);
    layout.chunk = chunk_shape;
    const ChunkGrid grid(dims, layout.chunk);
    layout.n_chunks = grid.counts.count();
    auto chunks = pieces_of(grid, layout.boxes);
    if (chunks.size() != layout.n_chunks)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("field '{}' {}: {} of its {} chunks were put by no rank; all "
                        "ranks' boxes together must tile the field",
                        name, to_string(dims), layout.n_chunks - chunks.size(), layout.n_chunks)};
    for (auto& [number, chunk] : chunks) {
        const Shape valid = grid.inside(chunk.box);
        if (Status s = check_tiling(name, chunk, valid.count(), layout.boxes); !s.ok()) return s;
        OwnedChunk owned{number, chunk.box, valid, std::move(chunk.pieces)};
        give_to_owner(layout, std::move(owned), rank);
    }
    return layout;
}

}  // namespace caesura::writer
