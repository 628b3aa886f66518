#include "hdf5/filter/kept_chunk.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "codec/frame/byte_io.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::hdf5 {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array k_kept_magic = {std::byte{0x8a}, std::byte{0x43}, std::byte{0x4b},
                                     std::byte{0x43}};
constexpr std::uint8_t k_kept_version = 1;
constexpr std::size_t k_head_bytes = 44;
constexpr std::size_t k_checked_bytes = 36;
constexpr std::int32_t k_nothing_rounded = std::numeric_limits<std::int32_t>::min();

Status broken_chunk(std::string what) {
    return {StatusCode::corrupt, "chunk with kept values: " + std::move(what)};
}

/// The raw bytes of a frame of bytes, `most` at most.
Result<std::vector<std::byte>> unpack(Bytes frame, std::uint64_t most) {
    if (frame.empty()) return std::vector<std::byte>{};
    const auto info = read_frame_info(frame);
    if (!info.ok()) return info.status();
    if (!info->untyped || info->raw_bytes > most)
        return broken_chunk(fmt::format("{} bytes of values or runs", info->raw_bytes));
    std::vector<std::byte> raw(static_cast<std::size_t>(info->raw_bytes));
    if (Status status = decompress(frame, raw); !status.ok()) return status;
    return raw;
}

}  // namespace

bool is_kept_chunk(Bytes stored) {
    return stored.size() >= k_kept_magic.size() &&
           std::memcmp(stored.data(), k_kept_magic.data(), k_kept_magic.size()) == 0;
}

Result<KeptChunk> read_kept_chunk(Bytes stored) {
    if (!is_kept_chunk(stored) || stored.size() < k_head_bytes)
        return broken_chunk("it ends early");
    codec::ByteReader in(stored);
    in.skip_to(k_kept_magic.size());
    if (const unsigned version = in.u8(); version != k_kept_version)
        return Status(StatusCode::unsupported,
                      fmt::format("chunk with kept values: version {}; this is version {}: install "
                                  "a newer libh5caesura",
                                  version, k_kept_version));
    const unsigned kind = in.u8();
    const bool reserved = in.u8() != 0 || in.u8() != 0;
    KeptChunk chunk;
    chunk.grid.fineness = static_cast<std::int32_t>(in.u32());
    const auto finest = static_cast<std::int32_t>(in.u32());
    const std::uint64_t frame = in.u32();
    const std::uint64_t runs = in.u32();
    const std::uint64_t values = in.u32();
    chunk.bound = in.f64();
    if (in.u64() != codec::checksum(stored.first(k_checked_bytes), 0))
        return broken_chunk("its checksum is another");
    const bool fits = stored.size() - k_head_bytes == frame + runs + values;
    if (kind > static_cast<unsigned>(Grid::Kind::significant) || reserved || !fits ||
        chunk.grid.fineness > k_finest || chunk.grid.fineness < -k_finest || finest > k_finest)
        return broken_chunk("its head says what cannot be");
    chunk.grid.kind = static_cast<Grid::Kind>(kind);
    if (finest != k_nothing_rounded) chunk.finest = finest;
    chunk.frame = in.bytes(frame);
    chunk.runs = in.bytes(runs);
    chunk.values = in.bytes(values);
    return chunk;
}

Result<FrameInfo> stored_frame_info(Bytes stored) {
    if (!is_kept_chunk(stored)) return read_frame_info(stored);
    const auto chunk = read_kept_chunk(stored);
    if (!chunk.ok()) return chunk.status();
    auto info = read_frame_info(chunk->frame);
    if (!info.ok() || info->bound.kind == ErrorBound::Kind::lossless) return info;
    info->bound.value = chunk->bound;
    if (info->bound.kind == ErrorBound::Kind::absolute) info->absolute_bound = chunk->bound;
    return info;
}

Result<std::vector<std::byte>> write_kept_chunk(const KeptChunk& chunk,
                                                std::span<const KeptRun> runs, Bytes values,
                                                std::size_t value_bytes, bool checksum) {
    std::vector<std::byte> packed_runs, packed_values;
    if (!runs.empty()) {
        auto made = compress_bytes(std::as_bytes(runs), sizeof(std::uint32_t), checksum);
        if (!made.ok()) return made.status();
        packed_runs = std::move(*made);
        made = compress_bytes(values, value_bytes, checksum);
        if (!made.ok()) return made.status();
        packed_values = std::move(*made);
    }
    codec::Output out;
    codec::ByteWriter to(out);
    to.bytes(k_kept_magic)
        .u8(k_kept_version)
        .u8(static_cast<std::uint8_t>(chunk.grid.kind))
        .u8(0)
        .u8(0);
    to.u32(static_cast<std::uint32_t>(chunk.grid.fineness));
    to.u32(static_cast<std::uint32_t>(chunk.finest.value_or(k_nothing_rounded)));
    to.u32(static_cast<std::uint32_t>(chunk.frame.size()));
    to.u32(static_cast<std::uint32_t>(packed_runs.size()));
    to.u32(static_cast<std::uint32_t>(packed_values.size()));
    to.f64(chunk.bound);
    to.u64(codec::checksum(out.bytes(), 0));
    to.bytes(chunk.frame).bytes(packed_runs).bytes(packed_values);
    return out.take();
}

Result<std::vector<std::byte>> of_another_length(std::vector<std::byte> stored, Bytes values,
                                                 std::size_t value_bytes, bool checksum) {
    KeptChunk chunk;
    std::vector<KeptRun> runs;
    std::vector<std::byte> kept;
    if (is_kept_chunk(stored)) {
        const auto known = read_kept_chunk(stored);
        if (!known.ok()) return known.status();
        chunk = *known;
        const auto packed = unpack(chunk.runs, values.size() / value_bytes * sizeof(KeptRun));
        if (!packed.ok()) return packed.status();
        runs.resize(packed->size() / sizeof(KeptRun));
        std::memcpy(runs.data(), packed->data(), packed->size());
        auto all = unpack(chunk.values, values.size());
        if (!all.ok()) return all.status();
        kept = std::move(*all);
        if (runs.empty()) {  // the first value as it is
            runs.push_back({0, 1});
            kept.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(value_bytes));
        }
    } else {
        chunk.frame = stored;
    }
    for (;;) {
        auto longer = write_kept_chunk(chunk, runs, kept, value_bytes, checksum);
        if (!longer.ok() || longer->size() != values.size()) return longer;
        runs.push_back({0, 0});
    }
}

Status put_kept(const KeptChunk& chunk, std::size_t value_bytes, std::span<std::byte> values) {
    const std::uint64_t count = values.size() / value_bytes;
    const auto packed = unpack(chunk.runs, count * sizeof(KeptRun));
    if (!packed.ok()) return packed.status();
    const auto kept = unpack(chunk.values, values.size());
    if (!kept.ok()) return kept.status();
    if (packed->size() % sizeof(KeptRun) != 0) return broken_chunk("half a run");
    std::uint64_t at = 0;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < packed->size(); i += sizeof(KeptRun)) {
        KeptRun run;
        std::memcpy(&run, packed->data() + i, sizeof run);
        at += run.skipped;
        const std::size_t bytes = std::size_t{run.length} * value_bytes;
        if (at + run.length > count || bytes > kept->size() - taken)
            return broken_chunk(
                fmt::format("a run of {} values at {} of {}", run.length, at, count));
        std::memcpy(values.data() + at * value_bytes, kept->data() + taken, bytes);
        at += run.length;
        taken += bytes;
    }
    if (taken != kept->size()) return broken_chunk("values that are in no run");
    return {};
}

}  // namespace caesura::hdf5
