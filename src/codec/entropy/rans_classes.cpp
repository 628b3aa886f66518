#include "codec/entropy/rans_classes.hpp"

#include <algorithm>
#include <bit>

namespace caesura::codec {

std::uint8_t sparse_index(std::size_t nonzeros) {
    const auto octave = static_cast<unsigned>(std::bit_width(nonzeros)) - 1;
    const bool upper = nonzeros * nonzeros >= std::size_t{2} << (2 * octave);
    const unsigned half_octaves = 2 * octave + (upper ? 1 : 0);
    return static_cast<std::uint8_t>(std::clamp(half_octaves, 3U, 18U) - 3);
}

std::uint8_t dense_class(const ChunkSummary& summary, std::size_t n) {
    // A float's bits >> 16 are 128 (log2 + 127); the level of a 1 is 1.
    const std::uint32_t offset = 126 * 128 * summary.nonzeros;
    const std::uint32_t sum = summary.log_sum > offset ? summary.log_sum - offset : 0;
    const auto quarters = static_cast<unsigned>(sum / (32 * n));
    if (quarters < k_flat_levels) return static_cast<std::uint8_t>(k_dense_class + quarters);
    const unsigned k = std::min((quarters - 7) / 4, k_max_low_bits);
    const unsigned quarter = std::min(quarters - 7 - 4 * k, 3U);
    return static_cast<std::uint8_t>(k_dense_class + k_flat_levels + 4 * (k - 1) + quarter);
}

}  // namespace caesura::codec
