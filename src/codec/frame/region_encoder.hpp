// Mode::regions: a slab's part, cut into regions with settings of their own where that is smaller.
//
// A piece is coded whole and in halves along each axis; the best cut is kept if its bytes are
// fewer, and its halves are cut likewise. Every region is coded by both predictors, and with
// settings a step away from those that its sample chose.
//
// Invariants:
//  - A part is never longer than what Mode::automatic makes of the slab.
//  - The same values and request give the same bytes everywhere.
#pragma once

#include "codec/frame/part_encoder.hpp"

namespace caesura::codec {

/// Source: S4 §V-B. Differs: regions are found by cutting, not given.
/// As PartEncoder::encode() with `encoder`. Memory: beside the encoder's, at most twice the
/// slab, and its parts. Errors: internal. Throws std::bad_alloc.
Status encode_regions(PartEncoder& encoder, std::span<const std::byte> values, const Shape& shape,
                      const EncodeRequest& request, TableStatistics* statistics, Output& out);

}  // namespace caesura::codec
