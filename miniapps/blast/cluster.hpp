// Boxes around tagged cells, after Berger and Rigoutsos (1991): a box that is too empty is cut
// where a plane has no tags, else where the number of tags changes most, else in the middle.
#pragma once

#include <vector>

#include "box.hpp"

namespace blast {

/// Which cells of a box that begins at 0 are tagged.
struct Tags {
    Box box;
    std::vector<unsigned char> set;

    explicit Tags(const Box& where) : box(where), set(static_cast<std::size_t>(where.cells())) {}
    unsigned char& at(int i, int j, int k) {
        return set[static_cast<std::size_t>((std::int64_t{i} * box.hi[1] + j) * box.hi[2] + k)];
    }
    unsigned char at(int i, int j, int k) const { return const_cast<Tags*>(this)->at(i, j, k); }
};

/// Disjoint boxes that have all tagged cells, in an order that the tags alone determine.
/// @param fill        the least share of a box's cells that is tagged, if cuts can bring it about
/// @param max_extent  of a box along any axis
std::vector<Box> cluster(const Tags& tags, double fill, int max_extent);

}  // namespace blast
