// One canonical Huffman tree for a block, of its own or shared between dumps: the entropy coder of
// S0 section 4.3, to compare the product's with. No frame has it.
//
// Source: S0 §4.3.
// Section: flags (bit 0: a tree of its own follows), [LEB128 size and bytes of a tree],
// LEB128 bytes of each of the four streams, the streams. Code i is in stream i mod 4, so that four
// chains of dependent loads run side by side. A stream's bits run from the highest of its first
// byte down; its last byte is filled with zeros.
#pragma once

#include <vector>

#include "codec/frame/aligned_buffer.hpp"
#include "codec/frame/output.hpp"
#include "codec/predictors/codes.hpp"
#include "huffman/huffman_tree.hpp"

namespace caesura::lab::huffman {

inline constexpr std::size_t k_huffman_streams = 4;

/// Two stages, because the block's own tree needs its counts: as chunks come they are counted and
/// become symbols; finish() chooses the tree and writes them.
/// Memory: two bytes per code, four more per code of 512 and above, and what will be the section.
class HuffmanEncoder final : public codec::CodeSink {
  public:
    /// Start a block, whose section is appended to `out`. `shared`: a tree, or all 0 for none.
    /// `counts`: null, or where to add what the block has.
    void begin(const HuffmanLengths& shared, HuffmanCounts* counts, codec::Output& out);
    void put_chunk(const std::uint32_t* codes, std::size_t n) override;
    /// @return  whether the section carries its own tree, because the shared one fitted it badly.
    bool finish();
    /// Off: the shared tree is used however badly it fits. On at first.
    void set_drift_check(bool on) { drift_check_ = on; }

  private:
    bool choose_tree();
    void write_streams();

    HuffmanCounts* sums_ = nullptr;
    codec::Output* out_ = nullptr;
    bool drift_check_ = true;
    bool has_shared_ = false;
    HuffmanLengths lengths_{};
    std::vector<std::byte> own_;  // the bytes of the block's own tree
    // Four of them, since neighbours are often equal: no waiting on stores.
    std::array<std::array<std::uint32_t, k_huffman_symbols>, 4> recent_{};
    HuffmanCounts counts_{};
    codec::AlignedBuffer<std::uint16_t> symbols_;
    codec::AlignedBuffer<std::uint32_t> large_;  // the codes of 512 and above, in order
    std::array<codec::AlignedBuffer<std::uint8_t>, k_huffman_streams> streams_;
};

class HuffmanDecoder final : public codec::CodeSource {
  public:
    /// `shared` as the encoder had it. Errors: corrupt. `section` must outlive the block.
    Status open(std::span<const std::byte> section, std::uint64_t n_codes,
                const HuffmanLengths& shared);
    void get_chunk(std::uint32_t* codes) override;
    /// After the last chunk: was everything as it should be? Errors: corrupt.
    Status close();

  private:
    /// Codes up to this long are looked up at once: 8 KiB, beside the predictor's rows in L1.
    static constexpr unsigned k_lookup_bits = 11;
    struct Entry {
        std::uint16_t symbol = 0;
        std::uint8_t length = 0;  // 0: a longer code, or a symbol that raw bits follow
    };

    Status read_tree(std::span<const std::byte>& rest, const HuffmanLengths& shared);
    void make_lookup(const HuffmanLengths& lengths);
    std::uint32_t next_slowly(std::uint64_t& at_bit) const;

    std::array<Entry, std::size_t{1} << k_lookup_bits> lookup_{};
    // For the rest, per length: the end of the 15-bit words that begin with a code so long or
    // shorter, and where the symbols of that length begin in by_code_.
    std::array<std::uint32_t, k_longest_code + 1> past_{}, index_{};
    std::array<std::uint16_t, k_huffman_symbols> by_code_{};
    codec::AlignedBuffer<std::uint8_t> bytes_;  // the streams, and zeros that a chunk may run into
    std::array<std::uint64_t, k_huffman_streams> at_bit_{}, end_bit_{};
    std::uint64_t codes_left_ = 0;
    bool broken_ = false;
};

}  // namespace caesura::lab::huffman
