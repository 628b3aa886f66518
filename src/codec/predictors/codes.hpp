// The seam between predictors and entropy coders: a block's residual codes, in coding order.
//
// Invariants:
//  - A code is a zigzag-mapped 32-bit residual: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
//  - k_exact_code says "this value is stored exactly"; no residual maps to it (they are smaller in
//    magnitude than 2^31 - 1).
//  - Coders see chunks of k_chunk_values codes, in order; only a block's last chunk is shorter.
//  - Predictors are compiled once per instruction set and meet coders once per chunk, so a virtual
//    call here costs nothing measurable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace caesura::codec {

inline constexpr std::size_t k_chunk_values = 1024;
/// A predictor may write or read this many codes past the ones it asked for (whole vectors).
inline constexpr std::size_t k_code_slack = 64;
inline constexpr std::uint32_t k_exact_code = 0xffffffffU;

/// Takes a block's codes.
class CodeSink {
  public:
    virtual ~CodeSink() = default;
    /// @param codes  64-byte aligned. @param n  k_chunk_values, or 1 to k_chunk_values in the last
    /// call of a block; the array may be read up to k_chunk_values, the rest being 0.
    virtual void put_chunk(const std::uint32_t* codes, std::size_t n) = 0;
};

/// Gives a block's codes back.
class CodeSource {
  public:
    virtual ~CodeSource() = default;
    /// Write the next k_chunk_values codes (64-byte aligned; 0 past the block's end). A broken
    /// stream gives zeros and is reported by the coder's own status at the end of the block.
    virtual void get_chunk(std::uint32_t* codes) = 0;
};

/// Where a predictor writes: room for a run of codes, handed on a chunk at a time.
///
///     std::uint32_t* out = writer.room();         // up to k_chunk_values codes and k_code_slack
///     ... write n <= k_chunk_values codes (and scribble on up to k_code_slack more) ...
///     writer.advance(n);
class CodeWriter {
  public:
    explicit CodeWriter(CodeSink& sink) : sink_(sink) {}
    std::uint32_t* room() { return codes_ + count_; }
    void advance(std::size_t n) {
        count_ += n;
        if (count_ >= k_chunk_values) {
            sink_.put_chunk(codes_, k_chunk_values);
            count_ -= k_chunk_values;
            std::memmove(codes_, codes_ + k_chunk_values, count_ * sizeof(std::uint32_t));
        }
    }
    /// After the block's last code.
    void finish() {
        if (count_ == 0) return;
        std::memset(codes_ + count_, 0, (k_chunk_values - count_) * sizeof(std::uint32_t));
        sink_.put_chunk(codes_, count_);
        count_ = 0;
    }

  private:
    CodeSink& sink_;
    std::size_t count_ = 0;  // < k_chunk_values between calls
    alignas(64) std::uint32_t codes_[2 * k_chunk_values + k_code_slack];
};

/// Where a predictor reads: runs of codes, whatever the chunks' edges.
class CodeReader {
  public:
    explicit CodeReader(CodeSource& source) : source_(source) {}
    /// The next n <= k_chunk_values codes; k_code_slack more may be read, with any content. Valid
    /// until the next call.
    const std::uint32_t* take(std::size_t n) {
        if (n > end_ - begin_) refill();
        const std::uint32_t* codes = codes_ + begin_;
        begin_ += n;
        return codes;
    }

  private:
    void refill() {
        // The next chunk lands on an aligned place; what is left goes right in front of it.
        const std::size_t left = end_ - begin_;
        std::memmove(codes_ + k_chunk_values - left, codes_ + begin_, left * sizeof(std::uint32_t));
        source_.get_chunk(codes_ + k_chunk_values);
        begin_ = k_chunk_values - left;
        end_ = 2 * k_chunk_values;
    }

    CodeSource& source_;
    std::size_t begin_ = k_chunk_values;
    std::size_t end_ = k_chunk_values;
    alignas(64) std::uint32_t codes_[2 * k_chunk_values + k_code_slack];
};

}  // namespace caesura::codec
