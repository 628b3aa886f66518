// The two numbers of HDF5's superblock (versions 2 and 3) that the store looks at itself.
#pragma once

#include "caesura/base.hpp"

namespace caesura::store {

inline constexpr std::size_t k_superblock_bytes = 48;

struct Superblock {
    std::uint64_t end_of_file = 0;
    unsigned status_flags = 0;  ///< not 0 while a stock writer has the file open, or after it died
};
/// nullopt: no superblock, a torn one, or a version that the store never writes.
std::optional<Superblock> decode_superblock(std::span<const std::byte> bytes);
/// Put other numbers into a valid superblock, and the checksum that they need.
void patch_superblock(std::span<std::byte> bytes, const Superblock& numbers);

}  // namespace caesura::store
