// openPMD's particlePatches: which particles each rank had, and where they were. So a reader that
// wants a part of space need not read all particles.
//
// Invariants:
//  - A patch is what one rank put into a dump; ranks without particles have none. Patches are in
//    the order of the particles and are all of them.
//  - A patch has room for the finite positions as they were put and as the file gives them back:
//    bounds of lossy records are added. One without a finite position lies at NaN.
//  - Where a particle is says position + positionOffset, each by its range: of records of both the
//    patch may be a little larger than need be, never smaller.
#pragma once

#include "writer/tree.hpp"

namespace caesura::writer {

/// Is it the record position, or a component of it?
bool is_position(const FieldState& field);
/// Is it a component of position or positionOffset?
bool says_where(const FieldState& field);
/// Of the values that are finite.
Composition::Range finite_range(const std::byte* values, std::uint64_t count, DType dtype);

/// Add the patches of a species with particles to a dump, if it has a position.
/// @param records  that are in the dump.
void add_patches(store::DumpManifest& manifest, const SpeciesState& species,
                 std::span<const DumpedField* const> records);

}  // namespace caesura::writer
