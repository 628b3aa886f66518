#include "writer/chunk_pieces.hpp"

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
