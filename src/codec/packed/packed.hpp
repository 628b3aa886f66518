// Packed frames: codes of fixed width per 32 values, made and read by a GPU at the speed of its
// memory, and byte for byte the same on the host.
//
//     header (48 bytes) | a line of 16 bytes for each chunk | the chunks
//
// A chunk is 8,192 values, coded without knowing any other: the descriptors of its 64 groups, one
// word each, then the groups' words (packed_block.hpp). A chunk that would be no smaller than its
// values is these values as they are; it then has exactly as many words as they, which is how a
// reader knows. packed_format.hpp has the bytes of header and lines.
//
// They stand beside the codec's own frames: the HDF5 filter reads both.
//
// Invariants:
//  - With a bound, every finite value comes back within it, exactly, in its own type; all else bit
//    for bit. Without, all bits.
//  - No frame has more than packed_bytes_at_most() bytes.
//  - The same values and bound give the same bytes, on host and GPU.
//  - Every byte but what fills up the last 8 is covered by a checksum; reading is safe on any
//    bytes.
#pragma once

#include "caesura/codec.hpp"
#include "codec/packed/packed_format.hpp"

namespace caesura::codec::packed {

/// The most bytes that a frame of so many raw bytes can have.
std::uint64_t packed_bytes_at_most(std::uint64_t raw_bytes);

/// @param raw    values of `dtype`, any alignment; the last may be cut short.
/// @param bound  lossless or absolute.
/// @param frame  at least packed_bytes_at_most(); apart from raw.
/// @return how many bytes it has. Errors: invalid_argument (too little room, no bytes),
/// unsupported (a bound of another kind), those of validate(bound).
/// Calls: pure, thread-safe. packed_bench says how fast it is.
Result<std::uint64_t> pack_frame(std::span<const std::byte> raw, DType dtype,
                                 const ErrorBound& bound, std::span<std::byte> frame);

/// Does it begin like one?
bool is_packed_frame(std::span<const std::byte> frame);

/// What a frame of so many bytes says of itself; its chunks are not looked at. `begin`: at least
/// its first 48. Errors: as unpack_frame().
Result<PackedHeader> read_packed_header(std::span<const std::byte> begin,
                                        std::uint64_t frame_bytes);

/// @param raw  as many bytes as the header says.
/// Errors: insufficient_data (ends early), corrupt (no such frame, or a checksum is wrong),
/// unsupported (a later version), invalid_argument (size of `raw`).
Status unpack_frame(std::span<const std::byte> frame, std::span<std::byte> raw);

}  // namespace caesura::codec::packed
