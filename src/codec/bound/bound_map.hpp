// What a map of bounds comes to in a block.
//
// Invariants:
//  - No value of a layer is held to less than the map asks of it.
//  - The same values and map give the same bounds, whoever has the block.
#pragma once

#include <span>

#include "caesura/bound_map.hpp"
#include "caesura/codec.hpp"

namespace caesura::codec {

/// Planes of a block along its slowest axis that are held to one bound.
struct BoundLayer {
    std::uint64_t planes = 0;
    double bound = 0.0;  ///< absolute; 0: exact
    friend bool operator==(const BoundLayer&, const BoundLayer&) = default;
};

/// Does the map ask for the values, or for places alone?
inline bool looks_at_values(const BoundMap& map) {
    return !map.values.empty() || !map.steep.empty();
}

/// Source: S4 §V-B. Differs: the user says the bounds.
/// The layers of a block, neighbours of one bound joined. They are of at least 65536 values, so
/// that what each costs by itself does not matter, but the last.
/// @param elsewhere  where no rule says anything: absolute, 0 exact. A layer that no single rule
///                   covers is held to it too.
/// @param block   where it lies in the field.
/// @param values  of the block, dense, C order; not looked at unless looks_at_values().
std::vector<BoundLayer> bound_layers(const BoundMap& map, double elsewhere, const Box& block,
                                     const std::byte* values, DType dtype);

/// The tightest bound that a value can have.
double tightest_bound(const BoundMap& map, double elsewhere);
/// The loosest.
double loosest_bound(const BoundMap& map, double elsewhere);

/// For files: {"elsewhere": bound, "boxes": [{"offset": [...], "extent": [...], "bound": ...}],
/// "values": [{"lowest": ..., "highest": ..., "bound": ...}], "steep": [{"change": ..., "bound":
/// ...}]}. null is an infinity.
std::string to_json(const BoundMap& map, double elsewhere);

}  // namespace caesura::codec
