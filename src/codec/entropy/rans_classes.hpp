// Which class a chunk of codes gets. Only encoders ask: the class byte says the rest.
#pragma once

#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

/// Masks of 4 pay off up to 60 % nonzeros, in bytes as in time.
inline bool is_sparse(const ChunkSummary& summary, std::size_t n) {
    return std::size_t{summary.nonzeros} * 5 < 3 * n;
}
/// One tail in 25 codes: one more raw bit is cheaper, in time more than in bytes.
inline bool is_heavy(std::size_t tails, std::size_t n) { return tails * 25 > n; }

/// Half octaves of the number of nonzeros in k_chunk_values codes, 3 or fewer together.
std::uint8_t sparse_index(std::size_t nonzeros);
/// The class byte of a dense chunk of n codes.
std::uint8_t dense_class(const ChunkSummary& summary, std::size_t n);

/// A dense chunk's class and how many of its codes left a tail.
struct DenseSplit {
    std::uint8_t byte = 0;
    ChunkClass meaning;
    std::size_t tails = 0;
};

/// Classify and split a dense chunk; where its tail is heavy, again with one more raw bit.
/// @param n         codes that count, of `whole` (a multiple of 64).
/// @param alphabet  of a table, by its number.
template <class AlphabetOf>
DenseSplit split_dense(const std::uint32_t* codes, std::size_t n, std::size_t whole,
                       const ChunkSummary& summary, Sequence sequence, AlphabetOf alphabet,
                       std::uint8_t* symbols, std::uint8_t* low, std::uint32_t* tails) {
    DenseSplit split;
    Escapes escapes;
    const auto as = [&](std::uint8_t byte) {
        split.byte = byte;
        split.meaning = chunk_class(byte, sequence);
        split.tails = split_chunk(codes, whole, split.meaning.low_bits,
                                  alphabet(split.meaning.table), symbols, low, escapes);
    };
    as(dense_class(summary, n));
    if (is_heavy(split.tails, n) && split.meaning.low_bits < k_max_low_bits) {
        as(heavier_class(split.byte));
    }
    if (split.tails != 0) {
        take_tails(codes, whole, split.meaning.low_bits, alphabet(split.meaning.table), escapes,
                   split.tails, tails);
    }
    return split;
}

}  // namespace caesura::codec
