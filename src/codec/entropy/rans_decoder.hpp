// A rANS section in, codes out, a chunk at a time.
//
// Invariants:
//  - open() has checked every length and class byte, so that later stages only have to mind the
//    streams: rans_decode() stops at their beginning, sequences are never read past their end.
//  - Whatever is found broken makes the rest of the block zeros; close() says so.
#pragma once

#include <vector>

#include "codec/entropy/entropy.hpp"
#include "codec/entropy/rans_section.hpp"
#include "codec/frame/aligned_buffer.hpp"
#include "codec/kernels/rans_kernels.hpp"

namespace caesura::codec {

class RansDecoder final : public EntropyDecoder {
  public:
    Status open(std::span<const std::byte> section, std::uint64_t n_codes,
                const TableSet& tables) override;
    void get_chunk(std::uint32_t* codes) override;
    Status close() override;

  private:
    /// Where a sequence stands.
    struct Cursor {
        std::size_t chunk = 0;  // in classes_[sequence]
        const std::uint8_t* low = nullptr;
    };

    Status read_tables(std::span<const std::byte>& rest, std::uint8_t flags,
                       const TableSet& shared);
    void use_tables(const TableSet& set);
    Status read_units(std::span<const std::byte>& rest, std::size_t n_units,
                      std::size_t part_bytes);
    Status read_classes(std::span<const std::byte>& rest, std::uint8_t flags);
    Status place_parts(std::span<const std::byte> parts);
    std::size_t chunk_size(std::uint64_t n, std::size_t index) const;
    std::uint64_t low_total(Sequence sequence) const;
    void open_unit(std::size_t u);
    bool read_tails(std::uint64_t n, std::span<const std::uint8_t> raw);
    bool read_nonzeros(std::uint64_t n);
    void end_unit();
    bool decode(std::uint8_t table, std::size_t n);

    std::uint64_t n_codes_ = 0;
    std::size_t n_chunks_ = 0;
    unsigned unit_chunks_log2_ = 0;
    std::array<Frequencies, k_tables> frequencies_{};
    RansTables tables_{};  // of frequencies_
    std::array<RansSlots, k_tables> slots_;
    std::uint64_t has_slots_ = 0;  // bitmap: slots_ are made when first asked for
    std::vector<RansUnit> units_;
    SmallBytes small_bytes_;
    std::vector<std::uint8_t> classes_[3];
    Cursor primary_, nonzero_, tail_;
    const std::uint8_t* tail_raw_ = nullptr;
    const std::uint8_t* stream_ = nullptr;  // of the next unit

    RansState state_{};
    const std::uint8_t* stream_begin_ = nullptr;  // of the present unit
    const std::uint8_t* in_ = nullptr;
    AlignedBuffer<std::uint32_t> nonzeros_, tails_;
    std::size_t nonzeros_used_ = 0, tails_used_ = 0;
    bool broken_ = false;
    alignas(64) std::uint8_t symbols_[k_chunk_values + k_kernel_slack];
};

}  // namespace caesura::codec
