// What sampled codes would cost, coded by rANS with given tables or with tables of their own.
//
// Invariants:
//  - The same classes, tables and alphabets as the encoder's; only the sequences that symbols leave
//    out are guessed: nonzeros by their own levels, tails by their lengths.
//  - A sample's classes follow its codes more closely than a whole chunk's can. What halves of it
//    would gain over the whole tells how much: about twice as much for every doubling in length.
//  - Weights are integers: a sum does not depend on who adds it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "codec/entropy/adaptive_cost.hpp"
#include "codec/entropy/table_training.hpp"
#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

/// A measure to rank settings by, from a chunk's summary alone: about 128 times its bits.
/// @param n  1 .. k_chunk_values.
std::uint64_t rough_cost(const ChunkSummary& summary, std::size_t n);
/// Of codes as CodeCost::add takes them.
std::uint64_t rough_cost(std::uint32_t* codes, std::size_t n);

class CodeCost {
  public:
    CodeCost(const TableSet& tables, bool drift_check);
    /// @param codes   64-byte aligned, room for a multiple of 64; what is past n is overwritten.
    /// @param n       1 .. k_chunk_values, of neighbours as a chunk would hold them.
    /// @param weight  how many codes of the block each of these stands for.
    void add(std::uint32_t* codes, std::size_t n, std::uint64_t weight);
    /// What so many values stored exactly take beside their codes.
    void add_exact(std::size_t n, std::size_t value_bytes, std::uint64_t weight);
    /// Bits that somebody else knows of, times the weights' unit.
    void add_bits(std::uint64_t weighted) {
        raw_bits_ += weighted;
        common_bits_ += weighted;
    }
    /// Let another coder count the codes of add() too; null: no other. It must outlive this.
    void count_too(AdaptiveCost* adaptive) { adaptive_ = adaptive; }
    /// What is raw in either: exact values and bits that somebody else knew of.
    double raw_bytes(double scale) const { return static_cast<double>(common_bits_) / scale / 8; }
    /// Fixed-length coding of the same.
    void add_planes(const std::uint32_t* codes, std::size_t n, std::uint64_t weight);

    /// The section's bytes, with the block's own tables where those would be taken.
    /// @param scale  the weights' unit: a code of weight `scale` stands for one of the block.
    double bytes(double scale) const;

  private:
    double planes_bits() const;
    void add_dense(const std::uint32_t* codes, std::size_t n, const ChunkSummary& summary,
                   Sequence sequence, std::uint64_t weight);
    void count(std::uint8_t table, std::uint8_t* symbols, std::size_t n, std::uint64_t weight);
    void add_tails(const std::uint32_t* tails, std::size_t n, std::uint64_t weight);

    std::array<Frequencies, k_tables> frequencies_;
    std::array<std::uint8_t, k_tables> alphabets_{};
    bool drift_check_;
    std::array<std::uint64_t, k_tables * k_symbols> counts_{};
    AdaptiveCost* adaptive_ = nullptr;
    std::uint64_t raw_bits_ = 0;     // weighted
    std::uint64_t common_bits_ = 0;  // those of them that do not depend on the coder
    std::uint64_t class_codes_ = 0;  // weighted codes in chunks that have a class byte
    std::uint64_t planes_codes_ = 0, planes_bits_ = 0;  // weighted
    std::uint64_t all_codes_ = 0;                       // weighted codes in units
    std::uint64_t adaptation_ = 0;                      // weighted, 1/128 bits: see add()
    alignas(64) std::uint8_t symbols_[k_chunk_values + k_kernel_slack];
    alignas(64) std::uint8_t low_[4 * k_chunk_values + k_kernel_slack];
    alignas(64) std::uint32_t rest_[k_chunk_values + k_kernel_slack];
    alignas(64) std::uint32_t tails_[k_chunk_values + k_kernel_slack];
};

}  // namespace caesura::codec
