// What the rANS section says, in one place: classes of chunks, probability tables, and limits.
// docs/reference/block_frame.md describes the same byte by byte.
//
// Invariants:
//  - A chunk's class byte alone (and where the chunk stands: primary, nonzero or tail sequence)
//    says which table and how many raw low bits it uses.
//  - Frequencies are bytes that sum to 256; every symbol below the table's alphabet has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/predictors/codes.hpp"

namespace caesura::codec {

inline constexpr std::size_t k_symbols = 16;
inline constexpr std::size_t k_lanes = 128;  // interleaved coders; states of 16 bits
inline constexpr std::size_t k_state_bytes = 2 * k_lanes;

// ---- classes of a chunk -------------------------------------------------------------------
//
// level = mean over the chunk of log2(code) + 1 (0 for a zero), in quarters. Dense chunks keep the
// k lowest bits of each code raw, so that what remains has a level of 1.75 to 2.75.

inline constexpr std::uint8_t k_zero_class = 0;    // every code is 0: nothing else is stored
inline constexpr std::uint8_t k_sparse_class = 1;  // 16 classes by the number of nonzeros
inline constexpr std::uint8_t k_dense_class = 17;  // 11 of k = 0, then 4 of each k >= 1
inline constexpr unsigned k_flat_levels = 11;      // k = 0: level < 2.75
inline constexpr unsigned k_max_low_bits = 31;
// Heavy classes keep one bit more raw than their level asks for: two of k = 1, one of each k >= 2.
inline constexpr std::uint8_t k_heavy_class = k_dense_class + k_flat_levels + 4 * k_max_low_bits;
inline constexpr unsigned k_classes = k_heavy_class + 1 + k_max_low_bits;

// ---- tables -------------------------------------------------------------------------------

inline constexpr unsigned k_dense_table = 0;                                   // 11 + 3 * 4
inline constexpr unsigned k_heavy_table = k_dense_table + k_flat_levels + 12;  // 3
inline constexpr unsigned k_nonzero_table = k_heavy_table + 3;                 // 6 + 4 + 1
inline constexpr unsigned k_sparse_table = k_nonzero_table + 11;               // 16
inline constexpr unsigned k_tail_table = k_sparse_table + 16;                  // 8
inline constexpr unsigned k_tables = k_tail_table + 8;

/// Three sequences of a unit: its codes; what sparse chunks' masks leave out (code - 1 of each
/// nonzero); what a table's last symbol leaves out (the rest of the value).
enum class Sequence : std::uint8_t { primary, nonzero, tail };

struct ChunkClass {
    std::uint8_t table = 0;
    std::uint8_t low_bits = 0;
    bool sparse = false;
};

/// Meaning of a class byte. `byte` must be below k_classes and not k_zero_class; in the nonzero
/// sequence not sparse; in the tail sequence below 8.
constexpr ChunkClass chunk_class(std::uint8_t byte, Sequence sequence) {
    ChunkClass c;
    if (sequence == Sequence::tail) {
        c.table = static_cast<std::uint8_t>(k_tail_table + byte);
        return c;
    }
    if (byte < k_dense_class) {
        c.sparse = true;
        c.table = static_cast<std::uint8_t>(k_sparse_table + byte - k_sparse_class);
        return c;
    }
    const bool nonzero = sequence == Sequence::nonzero;
    if (byte >= k_heavy_class) {
        const unsigned index = byte - k_heavy_class;
        c.low_bits = static_cast<std::uint8_t>(index < 2 ? 1 : index);
        c.table = static_cast<std::uint8_t>(nonzero ? k_nonzero_table + 10
                                                    : k_heavy_table + (index < 2 ? index : 2));
        return c;
    }
    const unsigned level = byte - k_dense_class;
    if (level < k_flat_levels) {
        c.table = static_cast<std::uint8_t>(nonzero ? k_nonzero_table + level / 2
                                                    : k_dense_table + level);
        return c;
    }
    const unsigned k = 1 + (level - k_flat_levels) / 4, quarter = (level - k_flat_levels) % 4;
    c.low_bits = static_cast<std::uint8_t>(k);
    c.table = static_cast<std::uint8_t>(nonzero ? k_nonzero_table + 6 + quarter
                                                : k_dense_table + k_flat_levels +
                                                      4 * ((k < 3 ? k : 3) - 1) + quarter);
    return c;
}

/// The class with one more raw bit than the dense class `byte`, whose low bits are below
/// k_max_low_bits.
constexpr std::uint8_t heavier_class(std::uint8_t byte) {
    const unsigned level = byte - k_dense_class;
    const unsigned k = level < k_flat_levels ? 0 : 1 + (level - k_flat_levels) / 4;
    const unsigned index = k == 0 ? (level < 8 ? 0 : 1) : k + 1;
    return static_cast<std::uint8_t>(k_heavy_class + index);
}

/// Is `byte` one that chunk_class() may be asked about?
constexpr bool valid_class(std::uint8_t byte, Sequence sequence) {
    if (sequence == Sequence::tail) return byte < 8;
    if (sequence == Sequence::nonzero) return byte >= k_dense_class && byte < k_classes;
    return byte != k_zero_class && byte < k_classes;
}

/// Frequencies of the 16 symbols, and what kernels want to know of them. 16-byte rows for byte
/// shuffles.
struct alignas(16) RansTable {
    std::array<std::uint8_t, k_symbols> frequency{};        // sum 256; 0 at and past the alphabet
    std::array<std::uint8_t, k_symbols> start{};            // sum of the frequencies below
    std::array<std::uint8_t, k_symbols> search{};           // (start - 1) ^ 0x80, 0x7f where unused
    std::array<std::uint8_t, k_symbols> reciprocal_low{};   // of floor(65536 / frequency),
    std::array<std::uint8_t, k_symbols> reciprocal_high{};  // at most 65535
    std::uint8_t alphabet = k_symbols;  // 2 .. 16; the last symbol escapes to the tail sequence
};

using Frequencies = std::array<std::uint8_t, k_symbols>;
using RansTables = std::array<RansTable, k_tables>;

/// Frequencies must be valid (see valid_frequencies).
RansTable make_rans_table(const Frequencies& frequency);
/// A table of each.
RansTables make_rans_tables(const std::array<Frequencies, k_tables>& frequencies);
/// Sum 256, at least two symbols, no gap.
bool valid_frequencies(const Frequencies& frequency);
/// How many symbols have a frequency: the first ones.
std::uint8_t alphabet_of(const Frequencies& frequency);

}  // namespace caesura::codec
