// A frame of nvCOMP's coders (nvcomp_format.hpp) looked at on the host, before a GPU touches it.
//
// Invariants: pure; safe on any bytes. Where reading succeeds, every chunk lies in the frame and
// its raw bytes in the piece: nobody has to check again.
#pragma once

#include <vector>

#include "caesura/device.hpp"
#include "nvcomp/nvcomp_format.hpp"

namespace caesura::device::nvcomp {

/// The most bytes that the frames of so many pieces, together of so many bytes, can come to.
std::uint64_t frames_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes);

/// Does it begin like one?
bool is_frame(std::span<const std::byte> begin);

/// What a frame of so many bytes says of itself. `begin`: at least its first 64.
/// Errors: insufficient_data (ends early), corrupt (no such frame, or its checksum is wrong),
/// unsupported (a later version, or a coder that is not known).
Result<Header> read_header(std::span<const std::byte> begin, std::uint64_t frame_bytes);

/// Bytes from the frame's begin that read_chunks() looks at.
std::uint64_t table_bytes(const Header& header);

struct Chunk {
    std::uint64_t offset = 0, bytes = 0;          ///< in the frame
    std::uint64_t raw_offset = 0, raw_bytes = 0;  ///< in the piece
    std::uint64_t checksum = 0;                   ///< its words' parts, added (checksum_part)
    bool is_raw() const { return bytes == raw_bytes; }
};
/// Where the chunks lie; what is in them is not looked at. `begin`: table_bytes() of the frame.
/// Errors: as above.
Result<std::vector<Chunk>> read_chunks(const Header& header, std::span<const std::byte> begin);

}  // namespace caesura::device::nvcomp
