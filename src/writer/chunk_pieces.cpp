#include "writer/chunk_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::writer {
namespace {

int owner_of(std::span<const LayoutPiece> pieces, std::span<const RankBox> boxes) {
    std::map<int, std::uint64_t> overlap;  // by rank, so that ties go to the lowest
    for (const LayoutPiece& piece : pieces)
        overlap[boxes[piece.box].rank] += piece.part.extent.count();
    int owner = -1;
    std::uint64_t largest = 0;
    for (const auto& [rank, values] : overlap)
        if (values > largest) {
            owner = rank;
            largest = values;
        }
    return owner;
}

}  // namespace

std::map<std::uint64_t, ChunkPieces> pieces_of(const ChunkGrid& grid,
                                               std::span<const RankBox> boxes) {
    std::map<std::uint64_t, ChunkPieces> chunks;
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        const Box& box = boxes[i].box;
        grid.for_chunks(box, [&](std::uint64_t number, const Box& whole) {
            ChunkPieces& chunk = chunks[number];
            chunk.box = whole;
            chunk.pieces.push_back({i, *intersect(whole, box)});
        });
    }
    return chunks;
}

std::uint64_t ChunkPieces::value_count() const {
    std::uint64_t values = 0;
    for (const LayoutPiece& piece : pieces) values += piece.part.extent.count();
    return values;
}

Shape fitting_chunk(const Shape& dims, const Shape& steps) {
    Shape fitting = dims;
    for (int axis = 0; axis < dims.rank(); ++axis)
        if (steps[axis] != 0) fitting[axis] = std::min(steps[axis], dims[axis]);
    return fitting;
}

Status check_apart(const std::string& name, const ChunkPieces& chunk,
                   std::span<const RankBox> boxes) {
    for (std::size_t i = 0; i < chunk.pieces.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (const auto common = intersect(chunk.pieces[i].part, chunk.pieces[j].part))
                return {StatusCode::invalid_argument,
                        fmt::format("field '{}': ranks {} and {} both put {}", name,
                                    boxes[chunk.pieces[j].box].rank,
                                    boxes[chunk.pieces[i].box].rank, to_string(*common))};
    return {};
}

bool give_to_owner(Layout& layout, OwnedChunk chunk, int rank) {
    const int owner = owner_of(chunk.pieces, layout.boxes);
    for (const LayoutPiece& piece : chunk.pieces) {
        const int from = layout.boxes[piece.box].rank;
        if (from == owner) continue;
        layout.any_moves = true;
        if (from == rank || owner == rank) layout.moves.push_back({from, owner, piece});
    }
    if (owner == rank) layout.mine.push_back(std::move(chunk));
    return owner == rank;
}

}  // namespace caesura::writer
