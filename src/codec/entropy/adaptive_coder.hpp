// Adaptive coding: every bit of a code with the probability that the codes before it give it
// (adaptive_model.hpp), by a range coder. A tenth of rANS's speed; in bursty fields a fifth to a
// half fewer bytes.
//
// Section: the range coder's 32-bit words, lowest byte first. A block without codes has none.
//
// Invariants:
//  - low and range are of 64 bits, and range is at least 2^32 between bits; a bit of probability p
//    takes the lower (range >> 16) p of the range where it is set.
//  - A section is used up by its codes: k_first_words, and one for every word that went out before
//    the last ones.
#pragma once

#include <memory>

#include "codec/entropy/adaptive_model.hpp"
#include "codec/entropy/entropy.hpp"

namespace caesura::codec {

/// Bits into words.
class RangeEncoder {
  public:
    static constexpr bool k_decodes = false;

    /// Append to `out` from now on.
    void begin(Output& out);
    bool code(AdaptiveBit& bit, bool set);
    std::uint32_t raw(std::uint32_t value, unsigned bits);
    /// The last words.
    void finish();

  private:
    void add(std::uint64_t to_low);
    void put_words();

    Output* out_ = nullptr;
    std::size_t begin_ = 0;
    std::uint64_t low_ = 0, range_ = 0;
};

/// Words into bits. Past their end it reads zeros.
class RangeDecoder {
  public:
    static constexpr bool k_decodes = true;

    /// @param words  a multiple of 4 bytes, which must outlive the last call.
    void begin(std::span<const std::byte> words);
    bool code(AdaptiveBit& bit, bool ignored);
    std::uint32_t raw(std::uint32_t ignored, unsigned bits);
    /// Have all words been read, and none beyond?
    bool exhausted() const { return next_ == end_ && !beyond_; }

  private:
    std::uint32_t take();
    void narrow(std::uint64_t range);

    const std::byte* next_ = nullptr;
    const std::byte* end_ = nullptr;
    bool beyond_ = false;
    std::uint64_t value_ = 0, range_ = 0;  // value: how far the code lies above low
};

class AdaptiveEncoder final : public EntropyEncoder {
  public:
    void begin(std::uint64_t n_codes, const TableSet& tables, TableStatistics* statistics,
               std::uint64_t expected_bytes, Output& out) override;
    void put_chunk(const std::uint32_t* codes, std::size_t n) override;
    bool finish() override;

  private:
    AdaptiveModel model_;
    RangeEncoder bits_;
    bool empty_ = true;
};

class AdaptiveDecoder final : public EntropyDecoder {
  public:
    Status open(std::span<const std::byte> section, std::uint64_t n_codes,
                const TableSet& tables) override;
    void get_chunk(std::uint32_t* codes) override;
    Status close() override;

  private:
    AdaptiveModel model_;
    RangeDecoder bits_;
    std::uint64_t left_ = 0;  // codes
    bool asked_beyond_ = false;
};

}  // namespace caesura::codec
