// What lies around the chunks that nvCOMP compressed, byte by byte. For the host and CUDA kernels.
//
//     header (64 bytes) | a line of 16 bytes for each chunk | shift | the chunks | shift
//
// A frame is one piece of a parcel. Its raw bytes, but for those at the end that are no whole value
// and stand in the header, are cut into chunks of 64 KiB, the last shorter, and each is compressed
// by itself. A chunk that would be no smaller is its raw bytes as they are; it then has exactly as
// many, which is how a reader knows.
//
// Chunks begin at whole 16 bytes of the parcel, which nvCOMP's ANS asks for; zeros fill up what is
// between. A parcel's table leaves its first frame at whole 8 bytes, so `shift` is 0 or 8: bytes of
// 0 before the first chunk and behind the last, and all frames of a parcel have the same.
//
// Each chunk has a checksum, of its words and of where it lies. It is made while the chunk is moved
// to its place and costs no pass; a reader looks at all of them before nvCOMP sees a byte, one pass
// over the compressed bytes. It has to: of damaged chunks nvCOMP says that Bitcomp, Gdeflate and
// Cascaded do what is undefined.
//
// Invariants: C++17 and no headers of ours but packed_format.hpp, whose checksums these are: nvcc
// compiles it too.
#pragma once

#include "codec/packed/packed_format.hpp"

namespace caesura::device::nvcomp {

using codec::packed::checksum_part;
using codec::packed::chunk_checksum_seed;

constexpr std::uint32_t k_magic = 0x4E727343;  // "CsrN"
constexpr std::uint8_t k_version = 1;
constexpr std::uint32_t k_chunk_bytes = 1 << 16;  // what nvCOMP recommends
constexpr std::uint32_t k_alignment = 16;

/// Little endian, as the machines are.
struct Header {
    std::uint32_t magic = k_magic;
    std::uint8_t version = k_version;
    std::uint8_t coder = 0;        ///< as Coder counts (caesura/device.hpp)
    std::uint8_t value_bytes = 4;  ///< 4 or 8: of what the coder took the bytes for
    std::uint8_t tail_bytes = 0;   ///< that are no whole value
    std::uint64_t raw_bytes = 0;
    std::uint64_t body_bytes = 0;  ///< of all chunks, each filled up to whole 16
    std::uint64_t tail = 0;        ///< these bytes, the first the lowest
    std::uint32_t chunk_bytes = k_chunk_bytes;
    std::uint32_t chunks = 0;
    std::uint32_t library = 0;  ///< nvCOMP's version, 1000 major + 100 minor + patch
    std::uint32_t shift = 0;    ///< 0 or 8
    std::uint64_t zero = 0;
    std::uint64_t checksum = 0;  ///< of the bytes before
};
static_assert(sizeof(Header) == 64, "the format");

/// A chunk's line of the table behind the header. It begins where the one before ends, filled up.
struct Line {
    std::uint64_t end_bytes = 0;  ///< from where the first chunk begins
    std::uint64_t checksum = 0;
};
static_assert(sizeof(Line) == 16, "the format");

CAESURA_BOTH std::uint64_t filled_up(std::uint64_t bytes) {
    return (bytes + k_alignment - 1) / k_alignment * k_alignment;
}

CAESURA_BOTH std::uint64_t chunks_of(std::uint64_t raw_bytes, std::uint32_t value_bytes) {
    return (raw_bytes / value_bytes * value_bytes + k_chunk_bytes - 1) / k_chunk_bytes;
}

/// Raw bytes of a chunk.
CAESURA_BOTH std::uint64_t chunk_raw_bytes(std::uint64_t raw_bytes, std::uint32_t value_bytes,
                                           std::uint64_t chunk) {
    const std::uint64_t left = raw_bytes / value_bytes * value_bytes - chunk * k_chunk_bytes;
    return left < k_chunk_bytes ? left : k_chunk_bytes;
}

/// Of the frames of a parcel of so many pieces.
CAESURA_BOTH std::uint32_t shift_of(std::uint64_t pieces) { return pieces % 2 == 0 ? 8 : 0; }

CAESURA_BOTH std::uint64_t line_begin(std::uint64_t chunk) {
    return sizeof(Header) + chunk * sizeof(Line);
}

/// Where the first chunk lies in its frame.
CAESURA_BOTH std::uint64_t body_begin(std::uint64_t chunks, std::uint32_t shift) {
    return line_begin(chunks) + shift;
}

CAESURA_BOTH std::uint64_t frame_bytes(std::uint64_t chunks, std::uint32_t shift,
                                       std::uint64_t body_bytes) {
    return body_begin(chunks, shift) + body_bytes + shift;
}

CAESURA_BOTH std::uint64_t header_checksum(const Header& header) {
    std::uint64_t words[sizeof(Header) / 8];
    memcpy(words, &header, sizeof header);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i + 1 < sizeof(Header) / 8; ++i) sum += checksum_part(words[i], i);
    return sum;
}

}  // namespace caesura::device::nvcomp
