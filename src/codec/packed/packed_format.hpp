// What lies around packed groups, byte by byte; see packed.hpp. For the host and CUDA kernels.
//
// Invariants: C++17 and no headers of ours but packed_block.hpp: nvcc compiles it too.
#pragma once

#include "codec/packed/packed_block.hpp"

namespace caesura::codec::packed {

constexpr std::uint32_t k_packed_magic = 0x50727343;  // "CsrP"
constexpr std::uint8_t k_packed_version = 1;
constexpr std::uint32_t k_chunk_groups = 64;
constexpr std::uint32_t k_chunk_values = k_chunk_groups * k_group_values;

/// Little endian, as the machines are.
struct PackedHeader {
    std::uint32_t magic = k_packed_magic;
    std::uint8_t version = k_packed_version;
    std::uint8_t value_bytes = 4;  ///< 4 or 8
    std::uint8_t tail_bytes = 0;   ///< that are no whole value
    std::uint8_t zero = 0;
    std::uint64_t raw_bytes = 0;
    double bound = 0.0;            ///< 0: lossless
    std::uint64_t body_words = 0;  ///< of all chunks, 4 bytes each
    std::uint64_t tail = 0;        ///< these bytes, the first the lowest
    std::uint64_t checksum = 0;    ///< of the bytes before
};
static_assert(sizeof(PackedHeader) == 48, "the format");

/// A chunk's line of the table behind the header.
struct PackedChunk {
    std::uint64_t end_words = 0;  ///< where it ends, from the end of the table
    std::uint64_t checksum = 0;
};
static_assert(sizeof(PackedChunk) == 16, "the format");

CAESURA_BOTH std::uint64_t chunks_of(std::uint64_t raw_bytes, std::uint32_t value_bytes) {
    return (raw_bytes / value_bytes + k_chunk_values - 1) / k_chunk_values;
}

/// Where a chunk's words begin if it has any.
CAESURA_BOTH std::uint64_t body_begin(std::uint64_t chunks) {
    return sizeof(PackedHeader) + chunks * sizeof(PackedChunk);
}

/// Frames end at whole 8 bytes.
CAESURA_BOTH std::uint64_t packed_bytes(std::uint64_t chunks, std::uint64_t body_words) {
    return body_begin(chunks) + (body_words + body_words % 2) * 4;
}

/// What a rule is made of: the frame says the bound only. A bound that cannot be divided by is kept
/// by keeping every bit.
CAESURA_BOTH PackRule pack_rule(double bound) {
    const double step = 2.0 * bound, inverse = 1.0 / step;
    if (!(bound > 0.0) || !(step <= DBL_MAX) || !(inverse <= DBL_MAX)) return {};
    return {bound, step, inverse};
}

/// The part that a word has in a checksum; parts are added, in any order.
CAESURA_BOTH std::uint64_t checksum_part(std::uint64_t word, std::uint64_t place) {
    std::uint64_t mixed = word + (place + 1) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

/// What a chunk's checksum begins with: where it lies. Its words' parts, from place 0 on, are
/// added.
CAESURA_BOTH std::uint64_t chunk_checksum_seed(std::uint64_t chunk, std::uint64_t begin_words,
                                               std::uint64_t end_words) {
    return checksum_part(chunk, ~std::uint64_t{0} - 1) +
           checksum_part(begin_words, ~std::uint64_t{0} - 2) +
           checksum_part(end_words, ~std::uint64_t{0} - 3);
}

CAESURA_BOTH std::uint64_t header_checksum(const PackedHeader& header) {
    std::uint64_t words[sizeof(PackedHeader) / 8];
    memcpy(words, &header, sizeof header);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i + 1 < sizeof(PackedHeader) / 8; ++i)
        sum += checksum_part(words[i], i);
    return sum;
}

}  // namespace caesura::codec::packed
