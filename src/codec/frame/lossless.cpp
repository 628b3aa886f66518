#include "codec/frame/lossless.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>

#include "codec/frame/byte_io.hpp"
#include "codec/frame/byte_shuffle.hpp"

namespace caesura::codec {
namespace {

constexpr std::size_t k_block_bytes = std::size_t{1} << 18;
constexpr std::size_t k_plane_limit_bytes = 16;
constexpr std::size_t k_sample_bytes = std::size_t{1} << 15;  // of a block, for an estimate

enum class StreamKind : std::uint8_t { raw = 0, constant = 1, zstd = 2 };

/// Streams of a block: one per byte of a value, or one in all.
std::size_t streams_of(std::size_t value_bytes) {
    return value_bytes <= k_plane_limit_bytes ? value_bytes : 1;
}

bool is_constant(std::span<const std::byte> stream) {
    return stream.size() <= 1 ||
           std::memcmp(stream.data(), stream.data() + 1, stream.size() - 1) == 0;
}

/// Counts of the bytes of a sample.
class Histogram {
  public:
    void add(std::byte byte) { ++counts_[std::to_integer<std::size_t>(byte)]; }
    /// Would an order-0 coder find nothing? The lowest bytes of floating-point values are noise,
    /// and zstd needs longer to find that out than to compress the bytes that matter.
    bool looks_random() const {
        // Sum of squares: n + n (n - 1) / 256 for independent uniform bytes, more for anything
        // else. In integers, so that the decision, and with it the bytes, is the same everywhere.
        std::uint64_t n = 0;
        std::uint64_t squares = 0;
        for (const std::uint32_t count : counts_) {
            n += count;
            squares += std::uint64_t{count} * count;
        }
        return squares * 100 <= (n + n * (n - 1) / 256) * 108;
    }

  private:
    std::array<std::uint32_t, 256> counts_{};
};

constexpr std::size_t k_sample = 2048;

bool looks_random(std::span<const std::byte> stream) {
    if (stream.size() < 2 * k_sample) return false;
    Histogram histogram;
    // Short runs from all over: enough for the histogram, few cache lines.
    constexpr std::size_t k_sample_run = 64;
    const std::size_t stride = stream.size() / (k_sample / k_sample_run);
    for (std::size_t begin = 0; begin + k_sample_run <= stream.size(); begin += stride)
        for (std::size_t i = 0; i < k_sample_run; ++i) histogram.add(stream[begin + i]);
    return histogram.looks_random();
}

}  // namespace

bool looks_like_noise(std::span<const std::byte> bytes) { return looks_random(bytes); }

std::size_t block_values(std::size_t value_bytes) {
    return std::max<std::size_t>(1, k_block_bytes / value_bytes);
}

LosslessPacker::~LosslessPacker() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }
LosslessUnpacker::~LosslessUnpacker() { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context_)); }

void LosslessPacker::pack_stream(std::span<const std::byte> stream, Output& out) {
    ByteWriter writer(out);
    if (is_constant(stream)) {
        writer.u8(static_cast<std::uint8_t>(StreamKind::constant)).bytes(stream.first(1));
        return;
    }
    constexpr std::size_t k_zstd_overhead_bytes = 5;  // kind and size
    if (stream.size() > 32 && !looks_random(stream)) {
        if (context_ == nullptr) context_ = ZSTD_createCCtx();
        if (context_ == nullptr) throw std::bad_alloc();
        compressed_.resize(ZSTD_compressBound(stream.size()));
        const std::size_t size =
            ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), compressed_.data(),
                              compressed_.size(), stream.data(), stream.size(), zstd_level_);
        if (ZSTD_isError(size) == 0 && size + k_zstd_overhead_bytes < stream.size()) {
            writer.u8(static_cast<std::uint8_t>(StreamKind::zstd))
                .u32(static_cast<std::uint32_t>(size))
                .bytes({compressed_.data(), size});
            return;
        }
    }
    writer.u8(static_cast<std::uint8_t>(StreamKind::raw)).bytes(stream);
}

void LosslessPacker::pack(std::span<const std::byte> bytes, std::size_t value_bytes, Output& out) {
    const std::size_t n = bytes.size() / value_bytes;
    const std::size_t per_block = block_values(value_bytes);
    const std::size_t streams = streams_of(value_bytes);
    for (std::size_t begin = 0; begin < n; begin += per_block) {
        const std::size_t count = std::min(per_block, n - begin);
        std::span<const std::byte> block = bytes.subspan(begin * value_bytes, count * value_bytes);
        if (value_bytes > 1) {
            shuffled_.resize(std::max(shuffled_.size(), block.size()));
            shuffle(block.data(), count, value_bytes, shuffled_.data());
            block = {shuffled_.data(), block.size()};
        }
        const std::size_t stream_bytes = block.size() / streams;
        for (std::size_t s = 0; s < streams; ++s)
            pack_stream(block.subspan(s * stream_bytes, stream_bytes), out);
    }
    ByteWriter(out).bytes(bytes.subspan(n * value_bytes));
}

std::uint64_t least_packed_bytes(std::span<const std::byte> bytes, std::size_t value_bytes) {
    const std::size_t n = bytes.size() / value_bytes;
    constexpr std::size_t k_sample_run = 16;
    if (value_bytes > k_plane_limit_bytes || n < 2 * k_sample) return 0;
    const std::size_t stride = n / (k_sample / k_sample_run);
    std::size_t random_planes = 0;
    for (std::size_t b = 0; b < value_bytes; ++b) {
        Histogram histogram;
        for (std::size_t begin = 0; begin + k_sample_run <= n; begin += stride)
            for (std::size_t i = begin; i < begin + k_sample_run; ++i)
                histogram.add(bytes[i * value_bytes + b]);
        random_planes += histogram.looks_random() ? 1 : 0;
    }
    return n * random_planes;
}

// Values that follow each other are nearer than those of a whole block, and their planes compress
// better. So a sample is runs from all over the block, long enough for most of zstd's matches.
std::span<const std::byte> LosslessPacker::sample_of(std::span<const std::byte> block,
                                                     std::size_t value_bytes) {
    constexpr std::size_t k_run_values = 256;
    const std::size_t run_bytes = k_run_values * value_bytes;
    const std::size_t runs = k_sample_bytes / run_bytes;
    if (runs < 2) return block;
    const std::size_t step_values = (block.size() - run_bytes) / value_bytes / (runs - 1);
    sample_.resize(runs * run_bytes);
    for (std::size_t i = 0; i < runs; ++i)
        std::memcpy(&sample_[i * run_bytes], &block[i * step_values * value_bytes], run_bytes);
    return sample_;
}

std::uint64_t LosslessPacker::estimate(std::span<const std::byte> bytes, std::size_t value_bytes) {
    constexpr std::size_t k_samples = 4;
    constexpr std::size_t k_blocks_worth_packing_one = 16;
    const std::size_t block_bytes = block_values(value_bytes) * value_bytes;
    const std::size_t blocks = bytes.size() / block_bytes;  // whole ones
    Output out;
    if (blocks == 0 || bytes.size() <= 2 * k_samples * k_sample_bytes) {
        pack(bytes, value_bytes, out);
        return out.size();
    }
    const std::size_t looked_at = std::min(blocks, k_samples);
    double seen_bytes = 0, packed_bytes = 0, factor = 1;
    for (std::size_t i = 0; i < looked_at; ++i) {
        const std::size_t first = (2 * i + 1) * blocks / (2 * looked_at) * block_bytes;
        const auto block = bytes.subspan(first, block_bytes);
        const auto sample = sample_of(block, value_bytes);
        const double share = static_cast<double>(sample.size()) / static_cast<double>(block_bytes);
        out.clear();
        pack(sample, value_bytes, out);
        const auto sample_bytes = static_cast<double>(out.size());
        seen_bytes += static_cast<double>(sample.size());
        packed_bytes += sample_bytes;
        // Repeats that reach farther than a run show in the whole block only.
        if (i == looked_at / 2 && blocks >= k_blocks_worth_packing_one) {
            out.clear();
            pack(block, value_bytes, out);
            factor = std::min(1.0, static_cast<double>(out.size()) * share / sample_bytes);
        }
    }
    return static_cast<std::uint64_t>(packed_bytes / seen_bytes * factor *
                                      static_cast<double>(bytes.size()));
}

Status LosslessUnpacker::unpack(std::span<const std::byte> section, std::size_t value_bytes,
                                std::span<std::byte> bytes) {
    const auto broken = [](const char* what) {
        return Status(StatusCode::corrupt, fmt::format("lossless section: {}", what));
    };
    ByteReader reader(section);
    const std::size_t n = bytes.size() / value_bytes;
    const std::size_t per_block = block_values(value_bytes);
    const std::size_t streams = streams_of(value_bytes);
    for (std::size_t begin = 0; begin < n; begin += per_block) {
        const std::size_t count = std::min(per_block, n - begin);
        const std::span<std::byte> target = bytes.subspan(begin * value_bytes, count * value_bytes);
        std::span<std::byte> block = target;
        if (value_bytes > 1) {
            shuffled_.resize(std::max(shuffled_.size(), target.size()));
            block = {shuffled_.data(), target.size()};
        }
        const std::size_t stream_bytes = block.size() / streams;
        for (std::size_t s = 0; s < streams; ++s) {
            const std::span<std::byte> stream = block.subspan(s * stream_bytes, stream_bytes);
            const auto kind = reader.u8();
            if (kind == static_cast<std::uint8_t>(StreamKind::raw)) {
                const auto raw = reader.bytes(stream.size());
                if (!reader.ended_early()) std::memcpy(stream.data(), raw.data(), raw.size());
            } else if (kind == static_cast<std::uint8_t>(StreamKind::constant)) {
                std::memset(stream.data(), reader.u8(), stream.size());
            } else if (kind == static_cast<std::uint8_t>(StreamKind::zstd)) {
                const auto packed = reader.bytes(reader.u32());
                if (context_ == nullptr) context_ = ZSTD_createDCtx();
                if (context_ == nullptr) throw std::bad_alloc();
                const std::size_t size =
                    ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_), stream.data(),
                                        stream.size(), packed.data(), packed.size());
                if (size != stream.size()) return broken("a zstd stream does not decode");
            } else {
                return broken("a stream of unknown kind");
            }
            if (reader.ended_early()) return broken("it ends early");
        }
        if (value_bytes > 1) unshuffle(block.data(), count, value_bytes, target.data());
    }
    const auto tail = reader.bytes(bytes.size() - n * value_bytes);
    if (reader.ended_early()) return broken("it ends early");
    if (!tail.empty()) std::memcpy(&bytes[n * value_bytes], tail.data(), tail.size());
    if (!reader.rest().empty()) return broken("it goes on after its end");
    return {};
}

}  // namespace caesura::codec
