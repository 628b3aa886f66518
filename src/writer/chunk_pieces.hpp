// The parts of boxes that fall into each chunk, and who gets the chunk: what layouts of all kinds
// have in common.
#pragma once

#include <map>

#include "writer/chunk_grid.hpp"
#include "writer/layout.hpp"

namespace caesura::writer {

struct ChunkPieces {
    Box box;  ///< full chunk
    std::vector<LayoutPiece> pieces;
};

/// By chunk number; pieces in the order of their boxes. Chunks that no box touches are not there.
std::map<std::uint64_t, ChunkPieces> pieces_of(const ChunkGrid& grid,
                                               std::span<const RankBox> boxes);

/// Give a chunk to the rank with the largest overlap, ties to the lowest; `layout` keeps what
/// concerns `rank`: the chunk if it owns it, the pieces that it sends or gets.
/// @return  is `rank` the owner?
bool give_to_owner(Layout& layout, OwnedChunk chunk, int rank);

}  // namespace caesura::writer
