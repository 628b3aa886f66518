// DEFLATE in zlib's container (RFC 1950), which any implementation, in hardware too, makes and
// takes.
#pragma once

#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

/// @param level  1 (fast) to 12 (small). Errors: no_space.
Result<std::vector<std::byte>> deflate(std::span<const std::byte> bytes, int level);

/// @param bytes  anything.
/// @param size   what comes out; anything else is an error.
/// Errors: corrupt (its checksum included), no_space.
Result<std::vector<std::byte>> inflate(std::span<const std::byte> bytes, std::uint64_t size);

}  // namespace caesura::lambda
