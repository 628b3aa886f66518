// Where the particles of each rank lie in a dump: behind those of the ranks before it.
//
// Invariant: pure and the same on every rank, given the same puts, as layouts are.
#pragma once

#include "writer/field_state.hpp"

namespace caesura::writer {

/// From puts as the ranks made them, each rank's own from 0 on, to boxes of the whole. The shapes
/// of records that are put become those of the dump; puts of no particles are left out.
/// @param boxes  by field: of rank 0 first, of each rank in the order of its puts.
/// Errors: invalid_argument naming species, rank, two records and their counts.
Status place_particles(Fields& fields, std::vector<std::vector<RankBox>>& boxes);

/// What make_layout is to aim at.
std::uint64_t particle_chunk_bytes(std::span<const RankBox> boxes, std::size_t value_bytes,
                                   std::uint64_t target_bytes);

/// The chunk of all records of a species that may be in any order.
/// @param widest_bytes  a value of the widest of them; see widest_record_bytes().
Shape ordered_chunk(std::span<const RankBox> boxes, std::size_t widest_bytes,
                    std::uint64_t target_bytes);

/// Of the records of the species that are in the dump. @param boxes  by field; empty: it is not.
std::size_t widest_record_bytes(const Fields& fields, std::uint32_t species,
                                std::span<const std::vector<RankBox>> boxes);

}  // namespace caesura::writer
