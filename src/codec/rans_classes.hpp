// Which class a chunk of codes gets. Only encoders ask: the class byte says the rest.
#pragma once

#include "codec/rans_kernels.hpp"

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

}  // namespace caesura::codec
