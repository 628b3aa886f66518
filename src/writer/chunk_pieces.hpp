// The parts of boxes that fall into each chunk, and who gets the chunk: what layouts of all kinds
// have in common.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "writer/chunk_grid.hpp"
#include "writer/layout.hpp"

namespace caesura::writer {

struct ChunkPieces {
    Box box;  ///< full chunk
    std::vector<LayoutPiece> pieces;

    /// Of all pieces, whether they are apart or not.
    std::uint64_t value_count() const;
};

/// The chunk of whole common steps of all edges; the whole axis where there is none.
Shape fitting_chunk(const Shape& dims, const Shape& steps);

/// By chunk number; pieces in the order of their boxes. Chunks that no box touches are not there.
std::map<std::uint64_t, ChunkPieces> pieces_of(const ChunkGrid& grid,
                                               std::span<const RankBox> boxes);

/// Two pieces of a chunk that are not apart.
struct Overlap {
    std::size_t first = 0, second = 0;
    Box common;
};
/// Any two that overlap. @param comparisons  if not null: is raised by the pairs looked at.
std::optional<Overlap> find_overlap(std::span<const LayoutPiece> pieces,
                                    std::uint64_t* comparisons = nullptr);

/// Errors: invalid_argument, naming the field, two ranks and what both put.
Status check_apart(const std::string& name, const ChunkPieces& chunk,
                   std::span<const RankBox> boxes);

/// Give a chunk to the rank with the largest overlap, ties to the lowest; `layout` keeps what
/// concerns `rank`: the chunk if it owns it, the pieces that it sends or gets.
/// @return  is `rank` the owner?
bool give_to_owner(Layout& layout, OwnedChunk chunk, int rank);

}  // namespace caesura::writer
