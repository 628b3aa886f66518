// Codes in, a rANS section out. See rans_section.hpp for its parts.
//
// Two stages, because rANS codes backwards and tables are best chosen knowing the block: as chunks
// come they are classified and split into symbols, raw low bits and sequences of what the symbols
// leave out; finish() chooses between the shared tables and the block's own and codes the symbols.
//
// The chunks' low bits, the larger part of a section at tight bounds, are written where they stay,
// and so are the streams; the rest is small. Memory: a byte per code for the symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/entropy/entropy.hpp"
#include "codec/entropy/rans_section.hpp"
#include "codec/entropy/table_training.hpp"
#include "codec/frame/aligned_buffer.hpp"
#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

class RansEncoder final : public EntropyEncoder {
  public:
    void begin(std::uint64_t n_codes, const TableSet& tables, TableStatistics* statistics,
               std::uint64_t expected_bytes, Output& out) override;
    void put_chunk(const std::uint32_t* codes, std::size_t n) override;
    bool finish() override;

  private:
    /// Some symbols of one table, in the order they come.
    struct Run {
        std::size_t first;  // in symbols_
        std::uint16_t n;    // a multiple of k_lanes
        std::uint8_t table;
    };
    /// The runs of one unit, per sequence.
    struct UnitRuns {
        std::size_t primary_end = 0, nonzero_end = 0, tail_end = 0;  // in runs_
    };

    std::uint8_t put_dense(const std::uint32_t* codes, std::size_t n, const ChunkSummary& summary,
                           Sequence sequence);
    std::uint8_t put_sparse(const std::uint32_t* codes, std::size_t nonzeros);
    void put_tails(const std::uint32_t* tails, std::size_t n);
    void add_run(std::size_t n, std::uint8_t table);
    void end_unit();
    void count_symbols();
    bool choose_tables();
    void code_units();
    void write_head(bool own);

    const TableSet* shared_ = nullptr;
    TableStatistics* statistics_ = nullptr;
    Output* out_ = nullptr;
    // Both stay from block to block: few have others than the one before.
    std::array<Frequencies, k_tables> frequencies_{};
    RansTables tables_{};           // of frequencies_
    std::uint64_t own_tables_ = 0;  // bitmap of those that differ from the shared ones
    std::array<std::uint64_t, k_tables * k_symbols> counts_{};

    unsigned unit_chunks_log2_ = 0;
    std::size_t chunks_in_unit_ = 0;
    AlignedBuffer<std::uint8_t> symbols_;
    AlignedBuffer<std::uint8_t> nonzero_low_;
    std::size_t low_bytes_ = 0;                         // of the codes: so many are in out_
    AlignedBuffer<std::uint32_t> nonzeros_, tails_[2];  // of the present unit; tails of the codes
                                                        // and of the nonzero sequence
    TailWriter tail_bits_;
    std::size_t tail_bytes_done_ = 0;
    std::vector<std::uint8_t> classes_[3];  // per sequence
    std::vector<Run> runs_;
    std::vector<UnitRuns> unit_runs_;
    std::vector<RansUnit> units_;
    SmallBytes small_bytes_;
};

}  // namespace caesura::codec
