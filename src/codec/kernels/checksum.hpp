// XXH3-64 of bytes, the checksum of frames and slabs, with the widest vectors the machine has.
//
// The library's own entry point is compiled for the oldest machine of its kind, where it takes
// three times as long: a twentieth of a whole compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace caesura::codec {

/// Limit: 7 operations per 64 bytes, 0.055 cycles per byte at two 512-bit operations a cycle;
/// measured on Zen 4 0.06.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed);

#if defined(__x86_64__)
// The same, for machines that have these instructions.
std::uint64_t checksum_avx2(const void* bytes, std::size_t n, std::uint64_t seed);
std::uint64_t checksum_avx512(const void* bytes, std::size_t n, std::uint64_t seed);
#endif

}  // namespace caesura::codec
