// The parts of a rANS section that encoder and decoder share: its head, its units, its tail's bits.
//
// A section is cut into units of whole chunks; each is coded from fresh states, so that units can
// be decoded side by side. In a unit's stream a decoder meets the tail sequence first, then the
// nonzero sequence, then the codes; the encoder codes in the opposite order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/entropy/rans_format.hpp"
#include "codec/frame/aligned_buffer.hpp"
#include "codec/frame/output.hpp"

namespace caesura::codec {

inline constexpr std::uint8_t k_inline_tables_flag = 1;
inline constexpr std::uint8_t k_classes_packed_flag = 2;  // class bytes went through zstd

/// What the section's directory says of a unit, each a LEB128 number.
struct RansUnit {
    std::uint64_t nonzeros = 0;      // values in the nonzero sequence
    std::uint64_t tails = 0;         // values in the tail sequence
    std::uint64_t tail_bytes = 0;    // raw bits of the tails
    std::uint64_t stream_bytes = 0;  // without the states behind them; meaningless if !has_stream
    bool has_stream = false;
};

/// Values rounded up to whole steps of the coder.
constexpr std::size_t whole_steps(std::size_t n) { return (n + k_lanes - 1) / k_lanes * k_lanes; }
constexpr std::size_t chunks_of(std::uint64_t n) {
    return static_cast<std::size_t>((n + k_chunk_values - 1) / k_chunk_values);
}

void put_leb128(Output& out, std::uint64_t value);
/// Take a number of at most 63 bits off the front; false at the end of the bytes or past that
/// length.
bool take_leb128(std::span<const std::byte>& in, std::uint64_t& value);

/// A section whose bits are written where they stay, before all is known that describes them: the
/// bits come first, then the head, then the head's size (u32).
void end_head(Output& out, std::size_t head_begin);
/// Such a section taken apart; false if it is too short for what it says.
bool split_section(std::span<const std::byte> section, std::span<const std::byte>& bits,
                   std::span<const std::byte>& head);

/// A coder's side information, a byte or so per chunk: LEB128 size, then the bytes, through zstd
/// where that makes them fewer. Keeps zstd's contexts, which take longer to make than to use.
class SmallBytes {
  public:
    SmallBytes() = default;
    ~SmallBytes();
    SmallBytes(const SmallBytes&) = delete;
    SmallBytes& operator=(const SmallBytes&) = delete;
    /// Returns whether they went through zstd. Throws std::bad_alloc.
    bool put(Output& out, std::span<const std::uint8_t> bytes);
    /// As they are.
    static void put_raw(Output& out, std::span<const std::uint8_t> bytes);
    /// Take them off the front: exactly as many as `bytes` holds, or false. Throws std::bad_alloc.
    bool take(std::span<const std::byte>& in, bool packed, std::span<std::uint8_t> bytes);

  private:
    void* packing_ = nullptr;    // ZSTD_CCtx
    void* unpacking_ = nullptr;  // ZSTD_DCtx
    std::vector<std::byte> packed_;
};

/// Tail values: symbol = bit length of value + 1, less one; the bits below its leading one lie
/// raw, lowest first. The last symbol stands for any longer one; then all 32 bits of value + 1
/// follow.
class TailWriter {
  public:
    /// @param n        up to k_chunk_values. @param symbols  receives n.
    /// @return  the sum of the symbols.
    std::size_t put(const std::uint32_t* values, std::size_t n, std::uint8_t* symbols);
    /// Whole bytes.
    void finish();
    void clear() { bytes_.clear(); }
    const AlignedBuffer<std::uint8_t>& bytes() const { return bytes_; }

  private:
    struct Bits;
    AlignedBuffer<std::uint8_t> bytes_;
    std::uint64_t bits_ = 0;
    unsigned used_ = 0;  // below 8 between calls
};

class TailReader {
  public:
    explicit TailReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    /// Past the end the bits are zeros, and exhausted() false.
    void get(const std::uint8_t* symbols, std::size_t n, std::uint32_t* values);
    /// Exactly the bytes there were?
    bool exhausted() const { return (at_bits_ + 7) / 8 == bytes_.size(); }

  private:
    std::span<const std::uint8_t> bytes_;
    std::uint64_t at_bits_ = 0;
};

}  // namespace caesura::codec
