// Fixed-length coding: each group of 128 codes with the bits of its longest. Memory speed, no
// tables.
//
// Section: the chunks' packed bits, written where they stay, then a head: the widths of all groups,
// 8 bytes a chunk (zstd where that pays).
#pragma once

#include <vector>

#include "codec/entropy/entropy.hpp"
#include "codec/entropy/rans_section.hpp"
#include "codec/frame/aligned_buffer.hpp"
#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

inline constexpr std::size_t k_groups = k_chunk_values / k_group_values;

class PlanesEncoder final : public EntropyEncoder {
  public:
    void begin(std::uint64_t n_codes, const TableSet& tables, TableStatistics* statistics,
               std::uint64_t expected_bytes, Output& out) override;
    void put_chunk(const std::uint32_t* codes, std::size_t n) override;
    bool finish() override;

  private:
    AlignedBuffer<std::uint8_t> widths_;
    Output* out_ = nullptr;
    std::size_t begin_ = 0;  // of the section
    SmallBytes small_bytes_;
};

class PlanesDecoder final : public EntropyDecoder {
  public:
    Status open(std::span<const std::byte> section, std::uint64_t n_codes,
                const TableSet& tables) override;
    void get_chunk(std::uint32_t* codes) override;
    Status close() override;

  private:
    std::vector<std::uint8_t> widths_;
    SmallBytes small_bytes_;
    std::size_t chunk_ = 0, n_chunks_ = 0;
    const std::uint8_t* bits_ = nullptr;
};

}  // namespace caesura::codec
