// Lossless bytes: byte shuffle and zstd, plane by plane, each plane only as far as it pays.
//
// Invariants:
//  - unpack(pack(x)) is x, whatever the bytes.
//  - A packed section grows by at most 1 byte per 16 KiB and 1 per byte of a value, plus 1.
//  - Blocks of about 256 KiB are independent, so that working memory stays in the second-level
//    cache and does not grow with the input.
//  - unpack never reads outside the section, never allocates more than a block.
//
// Section: the bytes are values of value_bytes each (the last may be cut short); blocks of
// block_values(value_bytes) values. Values of up to 16 bytes make one stream per byte of the value,
// larger ones one stream per block. A stream is a kind byte and
//   0 raw       its bytes
//   1 constant  one byte that fills it
//   2 zstd      u32 size, a zstd frame
// The bytes of a value cut short come last, as they are.
#pragma once

#include <span>
#include <vector>

#include "caesura/base.hpp"
#include "codec/frame/output.hpp"

namespace caesura::codec {

/// Compresses; keeps its buffers and zstd context from call to call. One thread at a time.
class LosslessPacker {
  public:
    /// @param zstd_level  1: at the speed that floating-point values are compressed with.
    explicit LosslessPacker(int zstd_level = 1) : zstd_level_(zstd_level) {}
    ~LosslessPacker();
    LosslessPacker(const LosslessPacker&) = delete;
    LosslessPacker& operator=(const LosslessPacker&) = delete;

    /// Append the section of `bytes` to `out`. value_bytes: 1 to 65536. Throws std::bad_alloc.
    void pack(std::span<const std::byte> bytes, std::size_t value_bytes, Output& out);
    /// About what pack would append, from samples of four blocks (128 KiB in all): 0.15 ms. From 4
    /// MiB on one of them is packed whole: 0.3 ms. Throws std::bad_alloc.
    std::uint64_t estimate(std::span<const std::byte> bytes, std::size_t value_bytes);

  private:
    void pack_stream(std::span<const std::byte> stream, Output& out);
    std::span<const std::byte> sample_of(std::span<const std::byte> block, std::size_t value_bytes);
    std::vector<std::byte> sample_;
    std::vector<std::byte> shuffled_;
    std::vector<std::byte> compressed_;
    void* context_ = nullptr;  // ZSTD_CCtx
    int zstd_level_;
};

/// Decompresses; keeps its buffers and zstd context from call to call. One thread at a time.
class LosslessUnpacker {
  public:
    LosslessUnpacker() = default;
    ~LosslessUnpacker();
    LosslessUnpacker(const LosslessUnpacker&) = delete;
    LosslessUnpacker& operator=(const LosslessUnpacker&) = delete;

    /// The section must be exactly the one of bytes.size() bytes. Errors: corrupt. Throws
    /// std::bad_alloc.
    Status unpack(std::span<const std::byte> section, std::size_t value_bytes,
                  std::span<std::byte> bytes);

  private:
    std::vector<std::byte> shuffled_;
    void* context_ = nullptr;  // ZSTD_DCtx
};

/// What a packed section can hardly be smaller than: the bytes of a value that look like noise in a
/// sample (about 10 us). 0 if that says nothing.
std::uint64_t least_packed_bytes(std::span<const std::byte> bytes, std::size_t value_bytes);

/// Does a sample of the bytes say that no byte coder would find anything in them?
bool looks_like_noise(std::span<const std::byte> bytes);

/// Values per block of a packed section.
std::size_t block_values(std::size_t value_bytes);

}  // namespace caesura::codec
