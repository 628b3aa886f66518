// Byte shuffle: bytes of equal weight side by side, so that a byte coder finds their pattern.
//
// Invariants:
//  - shuffled[b * n + i] is byte b of value i; unshuffle is the inverse.
#pragma once

#include <cstddef>

namespace caesura::codec {

/// @param values    [n * value_bytes], any alignment.
/// @param shuffled  [n * value_bytes], another place.
void shuffle(const std::byte* values, std::size_t n, std::size_t value_bytes, std::byte* shuffled);
void unshuffle(const std::byte* shuffled, std::size_t n, std::size_t value_bytes,
               std::byte* values);

}  // namespace caesura::codec
