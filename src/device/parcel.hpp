// Pieces that were compressed together: a table of their frames' sizes, then the frames.
//
//     u64 number of pieces, u64 bytes of each frame, the frames one after the other (little endian)
//
// A frame is one of our codec's (caesura/codec.hpp), a packed one (codec/packed/packed.hpp) or one
// of nvCOMP's coders (lab/nvcomp), which the host cannot unpack; it says which. It has a checksum
// of its own, so that a piece is had without the others, and what was damaged is known.
//
// Invariants: pure; unpacking is safe on any bytes.
#pragma once

#include "caesura/device.hpp"

namespace caesura::device {

/// The most bytes that pieces of together `bytes` can come to. `coder`: codec or packed.
std::uint64_t parcel_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes,
                                   Coder coder = Coder::codec);

/// Errors: invalid_argument (too little room, an empty piece), no_space (memory), those of
/// validate(content); unsupported (a coder that needs a GPU).
/// @return how many bytes the parcel has.
Result<std::uint64_t> pack(std::span<const std::span<const std::byte>> pieces,
                           const Content& content, std::span<std::byte> parcel,
                           Coder coder = Coder::codec);

/// The table of a parcel, from its first bytes: where its frames lie.
///
/// @param begin         of the parcel; at least its first 8 bytes, and 8 more for each piece up to
///                      `index`.
/// @param parcel_bytes  of all of it.
/// @return offset and bytes of the frame. Errors: as unpack().
struct FrameExtent {
    std::uint64_t offset = 0, bytes = 0;
};
Result<FrameExtent> find_frame(std::span<const std::byte> begin, std::uint64_t parcel_bytes,
                               std::uint64_t index);

/// The frames of a parcel, in order. Errors: insufficient_data or corrupt (not a parcel).
Result<std::vector<std::span<const std::byte>>> frames_of(std::span<const std::byte> parcel);
/// A parcel's table, for frames of so many bytes: they begin behind it.
/// @param table  exactly parcel_table_bytes().
void write_table(std::span<const std::uint64_t> frame_bytes, std::span<std::byte> table);
/// How a frame of nvCOMP's coders begins, which is refused by name.
inline constexpr std::uint32_t k_nvcomp_magic = 0x4E727343;  // "CsrN"
bool is_nvcomp_frame(std::span<const std::byte> begin);
constexpr std::uint64_t parcel_table_bytes(std::uint64_t pieces) { return 8 * (1 + pieces); }

/// One piece. Errors: insufficient_data or corrupt (not a parcel, or damaged), invalid_argument (no
/// such piece, or one of other bytes than `piece` has room for), unsupported (nvCOMP's).
Status unpack(std::span<const std::byte> parcel, std::uint64_t index, std::span<std::byte> piece);

}  // namespace caesura::device
