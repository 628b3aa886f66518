// For tests and benchmarks: the size that bit shuffle and zstd come to, as straightforward code.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caesura::codec {

/// Bit b of value i becomes bit i mod 8 of byte i / 8 of plane b. n: a multiple of 8.
inline std::vector<std::byte> bit_shuffled(std::span<const std::byte> bytes, std::size_t width) {
    const std::size_t n = bytes.size() / width;
    std::vector<std::byte> planes(bytes.size());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t b = 0; b < 8 * width; ++b)
            planes[b * (n / 8) + i / 8] |= (bytes[i * width + b / 8] >> (b % 8) & std::byte{1})
                                           << (i % 8);
    return planes;
}

inline std::size_t zstd_bytes(std::span<const std::byte> bytes) {
    std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
    return ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3);
}

/// Blocks as the bitshuffle library and its HDF5 filter make them: 8 KiB, each with its size; or,
/// with block_bytes of the whole array, without blocks: smaller, and nothing that a filter does.
inline std::size_t peer_bytes(std::span<const std::byte> bytes, std::size_t width,
                              std::size_t block_bytes = 8192) {
    constexpr std::size_t k_size_bytes = 4;
    std::size_t total = 12;
    std::size_t begin = 0;
    while (begin < bytes.size()) {
        const std::size_t left = bytes.size() - begin;
        const std::size_t block =
            left < block_bytes ? left / (8 * width) * (8 * width) : block_bytes;
        if (block == 0) return total + left;  // fewer than 8 values stay as they are
        total += k_size_bytes + zstd_bytes(bit_shuffled(bytes.subspan(begin, block), width));
        begin += block;
    }
    return total;
}

}  // namespace caesura::codec
