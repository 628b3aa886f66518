// The chunk grid of a field in one dump: its shape, who owns each chunk, and which pieces travel.
//
// Invariants:
//  - Pure and the same on every rank, given the same boxes in the same order; so nobody has to be
//    told who owns what.
//  - Every chunk has one owner: the rank with the largest overlap, ties to the lowest rank
//    (decision D12). Pieces go from their rank to the owner at most once.
#pragma once

#include <functional>

#include "caesura/base.hpp"

namespace caesura::writer {

/// One put: which rank handed over which part of the field.
struct RankBox {
    int rank = 0;
    std::uint32_t put = 0;  ///< its number among the puts of this rank and field
    Box box;
    std::uint32_t turn = 0;  ///< sparse layouts: OpenWriter::put
    friend bool operator==(const RankBox&, const RankBox&) = default;
};

/// How many `b` it takes to hold `a`.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// The largest step of which all inner edges of the boxes along an axis are multiples; 0 if it has
/// none.
Shape common_steps(const Shape& dims, std::span<const RankBox> boxes);

/// Chunk shape: about `target_bytes` raw, fitting the boxes where their edges allow it.
///
/// @param dims   extents of the field. @param boxes  tile it.
/// Where all inner edges of the boxes are multiples of a common step, chunks never straddle boxes
/// (down to 1 MiB); otherwise the largest box, evenly sliced, is the model.
Shape choose_chunk(const Shape& dims, std::span<const RankBox> boxes, std::size_t value_bytes,
                   std::uint64_t target_bytes);

/// A part of a chunk that lies in one box.
struct LayoutPiece {
    std::uint32_t box = 0;  ///< index into Layout::boxes
    Box part;
};

struct OwnedChunk {
    std::uint64_t chunk = 0;  ///< row-major number in the grid
    Box box;                  ///< full chunk, may reach beyond the array
    Shape valid;              ///< extent of the part that is stored: inside the array, as a rule
    std::vector<LayoutPiece> pieces;
    // Sparse and partial layouts only.
    Shape inside = valid;  ///< extent of its part inside the array
    bool covered = true;   ///< the pieces leave nothing of that open
};

/// A piece that goes to another rank.
struct Move {
    int from = 0, to = 0;
    LayoutPiece piece;
};

struct Layout {
    Shape dims, chunk;  ///< a sparse layout's chunk may exceed the dims
    std::vector<RankBox> boxes;
    std::vector<OwnedChunk> mine;  ///< of `rank`, row-major
    std::vector<Move> moves;       ///< from or to `rank`; per pair of ranks in the same order
    bool any_moves = false;        ///< on any rank
    bool may_be_open = false;      ///< sparse: some chunk, on any rank, is not of one box
    std::uint64_t n_touched = 0;   ///< sparse, partial: chunks that become blocks, on all ranks
    std::uint64_t n_chunks = 0;
};

/// Check that the boxes tile the field and lay its chunks out.
///
/// @param name  of the field, for messages.
/// Errors: invalid_argument naming the field and the overlapping ranks, or the first hole.
/// Cost: O(pieces of all ranks); keep it while the boxes stay the same.
Result<Layout> make_layout(const std::string& name, const Shape& dims, std::vector<RankBox> boxes,
                           std::size_t value_bytes, std::uint64_t target_bytes, int rank);
/// The same with a given chunk.
Result<Layout> make_layout_of(const std::string& name, const Shape& dims,
                              std::vector<RankBox> boxes, const Shape& chunk_shape, int rank);

}  // namespace caesura::writer
