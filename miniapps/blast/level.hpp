// Boxes that are spread over ranks, and the one way in which values move between them.
//
// Invariants:
//  - Every rank knows all boxes and owners; a box's values are on its owner alone.
//  - copy() moves values in an order that does not depend on the ranks, so the results have the
//    same bits on any number of them.
#pragma once

#include <mpi.h>

#include <vector>

#include "box.hpp"

namespace blast {

/// Values of some components in a box, component by component.
struct Patch {
    Box box;
    std::vector<double> values;

    Patch() = default;
    Patch(const Box& where, int components)
        : box(where), values(static_cast<std::size_t>(where.cells() * components)) {}
    std::size_t index(int c, int i, int j, int k) const {
        const std::int64_t line = std::int64_t{c} * box.extent(0) + (i - box.lo[0]);
        const std::int64_t row = line * box.extent(1) + (j - box.lo[1]);
        return static_cast<std::size_t>(row * box.extent(2) + (k - box.lo[2]));
    }
    double& at(int c, int i, int j, int k) { return values[index(c, i, j, k)]; }
    double at(int c, int i, int j, int k) const { return values[index(c, i, j, k)]; }
};

struct Layout {
    std::vector<Box> boxes;
    std::vector<int> owners;
};

/// Shares boxes out by their cells: the largest first, each to the rank with least so far.
Layout distribute(std::vector<Box> boxes, int ranks);

struct Level {
    Layout layout;
    int ghosts = 0, components = 0;
    std::vector<Patch> patches;  ///< as many as boxes; empty where another rank is the owner

    Level() = default;
    Level(Layout where, int ghost_cells, int component_count, int rank);
};

/// Where a box of `source` (without ghosts) and one of `target` (with ghosts) meet, the target gets
/// the source's values. Collective. The two may be the same level.
void copy(const Level& source, Level& target, MPI_Comm comm);

}  // namespace blast
