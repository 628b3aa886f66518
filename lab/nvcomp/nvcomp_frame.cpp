#include "nvcomp/nvcomp_frame.hpp"

#include <fmt/format.h>

#include <cstring>

#include "device/parcel.hpp"

namespace caesura::device::nvcomp {
namespace {

Status corrupt(std::string what) { return {StatusCode::corrupt, std::move(what)}; }

/// What the header says, held against itself and the frame's size.
Status check(const Header& header, std::uint64_t frame_size) {
    if (header.version != k_version)
        return {StatusCode::unsupported,
                fmt::format("a frame of nvCOMP's coders of version {}, {} is known", header.version,
                            k_version)};
    if (header.checksum != header_checksum(header))
        return corrupt("the header of a frame of nvCOMP's coders is damaged");
    if (!is_nvcomp(static_cast<Coder>(header.coder)))
        return {StatusCode::unsupported,
                fmt::format("coder {} of a frame is none of nvCOMP's", header.coder)};
    const bool plausible = (header.value_bytes == 4 || header.value_bytes == 8) &&
                           header.tail_bytes == header.raw_bytes % header.value_bytes &&
                           header.chunk_bytes == k_chunk_bytes &&
                           (header.shift == 0 || header.shift == 8) &&
                           header.body_bytes % k_alignment == 0;
    if (!plausible) return corrupt("the header of a frame of nvCOMP's coders contradicts itself");
    // Chunks first: a count that fits the frame keeps what follows from overflowing.
    if (header.chunks > frame_size / sizeof(Line) ||
        header.raw_bytes / k_chunk_bytes > header.chunks ||
        header.chunks != chunks_of(header.raw_bytes, header.value_bytes))
        return corrupt(fmt::format("{} chunks of {} raw bytes in a frame of {}", header.chunks,
                                   header.raw_bytes, frame_size));
    if (header.body_bytes > frame_size ||
        frame_bytes(header.chunks, header.shift, header.body_bytes) != frame_size)
        return {StatusCode::insufficient_data,
                fmt::format("a frame of {} bytes of chunks and {} in all", header.body_bytes,
                            frame_size)};
    return {};
}

}  // namespace

std::uint64_t frames_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes) {
    // Every piece may begin a chunk of its own; each chunk may be filled up.
    const std::uint64_t chunks = bytes / k_chunk_bytes + pieces;
    return pieces * frame_bytes(0, 8, 0) + chunks * (sizeof(Line) + k_alignment - 1) + bytes;
}

static_assert(k_magic == k_nvcomp_magic, "the host knows it by that");

bool is_frame(std::span<const std::byte> begin) { return is_nvcomp_frame(begin); }

Result<Header> read_header(std::span<const std::byte> begin, std::uint64_t frame_bytes) {
    if (frame_bytes < sizeof(Header) || begin.size() < sizeof(Header))
        return Status{StatusCode::insufficient_data,
                      fmt::format("{} bytes of a frame of nvCOMP's coders", frame_bytes)};
    if (!is_frame(begin)) return corrupt("no frame of nvCOMP's coders");
    Header header;
    std::memcpy(&header, begin.data(), sizeof header);
    if (Status status = check(header, frame_bytes); !status.ok()) return status;
    return header;
}

std::uint64_t table_bytes(const Header& header) { return line_begin(header.chunks); }

Result<std::vector<Chunk>> read_chunks(const Header& header, std::span<const std::byte> begin) {
    if (begin.size() < table_bytes(header))
        return Status{
            StatusCode::insufficient_data,
            fmt::format("{} bytes of the table of {} chunks", begin.size(), header.chunks)};
    std::vector<Chunk> chunks(header.chunks);
    std::uint64_t at = 0;
    for (std::uint64_t c = 0; c < chunks.size(); ++c) {
        Line line;
        std::memcpy(&line, begin.data() + line_begin(c), sizeof line);
        const std::uint64_t raw = chunk_raw_bytes(header.raw_bytes, header.value_bytes, c);
        if (line.end_bytes <= at || line.end_bytes > header.body_bytes || line.end_bytes - at > raw)
            return corrupt(fmt::format("chunk {} of {} raw bytes lies from {} to {} of {}", c, raw,
                                       at, line.end_bytes, header.body_bytes));
        chunks[c] = {body_begin(header.chunks, header.shift) + at, line.end_bytes - at,
                     c * k_chunk_bytes, raw,
                     line.checksum - chunk_checksum_seed(c, at, line.end_bytes)};
        at = filled_up(line.end_bytes);
    }
    if (at != header.body_bytes)
        return corrupt(fmt::format("chunks end at {} of {} bytes", at, header.body_bytes));
    return chunks;
}

}  // namespace caesura::device::nvcomp
