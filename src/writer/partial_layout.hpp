// The chunks of a field whose boxes cover a part of it: of a level of a refined mesh.
//
// Invariants:
//  - Pure and the same on every rank, as all layouts are.
//  - A chunk that no box touches is nobody's, and takes no space. Of one that boxes cover in parts
//    the rest is the field's fill value.
//  - No value is put twice.
#pragma once

#include "writer/layout.hpp"

namespace caesura::writer {

/// Chunk shape for boxes that leave some of the field open.
///
/// Boxes of one size on a grid of that size are chunks themselves, unless they are too small or too
/// large, and so stay on their ranks. Else chunks are as close to cubes as the boxes' common step
/// allows: whole boxes lie in them, and join to larger ones.
Shape choose_partial_chunk(const Shape& dims, std::span<const RankBox> boxes,
                           std::size_t value_bytes, std::uint64_t target_bytes);

/// As make_layout(). `mine` has the chunks that boxes touch; `covered` says of which all is put.
/// Errors: invalid_argument naming the field and the ranks whose boxes share values.
Result<Layout> make_partial_layout(const std::string& name, const Shape& dims,
                                   std::vector<RankBox> boxes, std::size_t value_bytes,
                                   std::uint64_t target_bytes, int rank);

/// The same values in fewer boxes: neighbours that make a box are joined, along the last axis
/// first. @param boxes  share no value; of one number of axes.
std::vector<Box> joined(std::vector<Box> boxes);

}  // namespace caesura::writer
