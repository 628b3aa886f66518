// XXH3-64, the checksum of everything of ours in the file.
#pragma once

#include "caesura/base.hpp"

namespace caesura::store {

/// @param seed  for records: the record's own address, so that a copy elsewhere is not valid.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace caesura::store
