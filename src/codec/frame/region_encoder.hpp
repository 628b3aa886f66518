// Mode::regions: a slab's part, cut into regions with settings of their own where that is smaller.
//
// Samples say along which axis a cut would pay; then both sides are coded, each cut further where
// that pays, and the cut is kept only if its bytes are fewer. Every region is coded by both
// predictors, and with settings a step away from those that its sample chose.
//
// Invariants:
//  - A part is never longer than what Mode::automatic makes of the slab.
//  - The same values and request give the same bytes everywhere.
#pragma once

#include "codec/frame/part_encoder.hpp"

namespace caesura::codec {

/// Source: S4 §V-B. Differs: regions are found by cutting, not given.
/// As PartEncoder::encode() with `encoder`. Memory: beside the encoder's, at most three times the
/// slab, and its parts. Errors: internal. Throws std::bad_alloc.
Status encode_regions(PartEncoder& encoder, std::span<const std::byte> values, const Shape& shape,
                      const EncodeRequest& request, TableStatistics* statistics, Output& out);

}  // namespace caesura::codec
