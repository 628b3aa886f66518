// A message and its payload as a port carries them: short messages in the head, long ones before
// the payload.
//
// Invariants:
//  - unwrap() is safe on any bytes, and gives back what wrap() was given.
//  - A payload begins at a multiple of 64 where the carried bytes do.
#pragma once

#include <span>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::transit {

struct Envelope {
    std::vector<std::byte> head;
    std::vector<std::byte> lead;  ///< goes before the payload; empty: the message is in the head
};
/// @param most_head_bytes  at least 16.
Envelope wrap(std::vector<std::byte> message, std::size_t most_head_bytes);

struct Unwrapped {
    std::span<const std::byte> message, payload;  ///< of what was given
};
/// Errors: corrupt.
Result<Unwrapped> unwrap(std::span<const std::byte> head, std::span<const std::byte> carried);

}  // namespace caesura::transit
