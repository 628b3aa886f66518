// The chunks of a field whose boxes need not tile it: of an application's file, where a write may
// touch any part of a dataset, and ranks may write the same values.
//
// Invariants:
//  - Pure and the same on every rank, as all layouts are.
//  - A chunk that no box touches is nobody's. Where boxes overlap, the one of the later turn wins;
//    of one turn the lowest rank, and of one rank's the later put. Pieces are in the order of
//    painting: what comes later covers what came before.
#pragma once

#include "writer/layout.hpp"

namespace caesura::writer {

struct SparseGrid {
    Shape dims;
    Shape chunk;  ///< full chunks; may exceed the dims
    /// The dims may grow: chunks at the array's edges are stored whole, with the fill value beyond
    /// the dims, because it may come to light. Else only their part inside the dims is.
    bool extendable = false;
};

/// @param boxes  ascending by rank and, within a rank, in the order of the puts; inside the dims.
/// Cost: O(pieces log chunks), and one pass over a map of bytes, one a value, for each chunk of
/// `rank` that several boxes share.
Layout make_sparse_layout(const SparseGrid& grid, std::vector<RankBox> boxes, int rank);

}  // namespace caesura::writer
