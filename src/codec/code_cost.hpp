// What sampled codes would cost, coded by rANS with given tables or with tables of their own.
//
// Invariants:
//  - The same classes, tables and alphabets as the encoder's; only the sequences that symbols leave
//    out are guessed: nonzeros by their own levels, tails by their lengths.
//  - Weights are integers: a sum does not depend on who adds it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "codec/rans_kernels.hpp"
#include "codec/table_training.hpp"

namespace caesura::codec {

/// A measure to rank settings by, from a chunk's summary alone: about its bits.
double rough_bits(const ChunkSummary& summary, std::size_t n);

class CodeCost {
  public:
    explicit CodeCost(const TableSet& tables);
    /// @param codes   64-byte aligned, room for a multiple of 64; what is past n is overwritten.
    /// @param n       1 .. k_chunk_values, of neighbours as a chunk would hold them.
    /// @param weight  how many codes of the block each of these stands for.
    void add(std::uint32_t* codes, std::size_t n, std::uint64_t weight);
    /// Fixed-length coding of the same.
    void add_planes(const std::uint32_t* codes, std::size_t n, std::uint64_t weight);

    /// Weighted, with the block's own tables where those would be taken.
    double bits() const;

  private:
    void add_dense(const std::uint32_t* codes, std::size_t n, const ChunkSummary& summary,
                   Sequence sequence, std::uint64_t weight);
    void count(std::uint8_t table, const std::uint8_t* symbols, std::size_t n,
               std::uint64_t weight);
    void add_tails(const std::uint32_t* tails, std::size_t n, std::uint64_t weight);

    std::array<Frequencies, k_tables> frequencies_;
    std::array<std::uint8_t, k_tables> alphabets_{};
    std::array<std::uint64_t, k_tables * k_symbols> counts_{};
    std::uint64_t raw_bits_ = 0;     // weighted
    std::uint64_t class_codes_ = 0;  // weighted codes in chunks that have a class byte
    alignas(64) std::uint8_t symbols_[k_chunk_values + k_kernel_slack];
    alignas(64) std::uint8_t low_[4 * k_chunk_values + k_kernel_slack];
    alignas(64) std::uint32_t rest_[k_chunk_values + k_kernel_slack];
    alignas(64) std::uint32_t tails_[k_chunk_values + k_kernel_slack];
};

}  // namespace caesura::codec
