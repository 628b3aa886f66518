// What travels between two ports: packets. A message of at most Limits::eager_bytes is one packet
// with its payload in it; a larger one is a sequence of parts, of which the first says how long all
// of it is. UCX carries each packet as one active message: `head` as its header, `data` as its
// data.
//
//     head:  kind u8 | token 16 | number u64 | total u64 | data bytes u64 | header | tags
//     tags:  none inside a node; else tag of the head (16); before it the tag of the data (16),
//            unless the network is trusted
//
// Invariants:
//  - Packets of one direction are numbered 0, 1, 2, ... in the order in which they take effect;
//    heartbeats have numbers of their own, which only grow.
//  - Decoding allocates nothing and trusts nothing: it reads inside the bytes that it was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transit/port/secret.hpp"

namespace caesura::transit {

/// Which connection a packet belongs to: random, chosen by who receives with it.
using Token = std::array<std::byte, 16>;

enum class PacketKind : std::uint8_t {
    whole = 1,     ///< a message, its payload in `data`
    begin = 2,     ///< a message of `total` bytes; its first part follows as data
    part = 3,      ///< the next bytes of the message that began
    beat = 4,      ///< "I am here"
    good_bye = 5,  ///< nothing comes after it
};

/// What both ends of every connection keep to. They are part of the protocol: a sender that keeps
/// to them never makes the receiver hold more than it allows.
struct Window {
    static constexpr std::uint64_t part_bytes = 4 << 20;   ///< at most, of one part
    static constexpr std::size_t parts = 4;                ///< on their way at once
    static constexpr std::size_t packets = 256;            ///< after one that is still on its way
    static constexpr std::uint64_t eager_bytes = 4 << 20;  ///< of those, of data in packets
};

struct Head {
    PacketKind kind = PacketKind::whole;
    Token token{};
    std::uint64_t number = 0;
    std::uint64_t total = 0;       ///< bytes of the message's payload: whole, begin
    std::uint64_t data_bytes = 0;  ///< of this packet
};

inline constexpr std::size_t k_head_bytes = 1 + 16 + 8 + 8 + 8;
/// What head and tags add to a message's own header, at most.
inline constexpr std::size_t k_around_header_bytes = k_head_bytes + 2 * k_tag_bytes;

/// Which tags a connection's packets have. Both ends agree on it in the hand-shake.
struct Sealing {
    const Seal* seal = nullptr;  ///< none inside a node
    bool data = false;           ///< payloads have tags too
};

inline Status bad_packet(std::string what) { return {StatusCode::corrupt, std::move(what)}; }

/// @param data  of this packet, in one piece; read only if it is sealed.
std::vector<std::byte> encode(const Head& head, std::span<const std::byte> header,
                              std::span<const std::byte> data, const Sealing& sealing);

/// A head that is in order, and what lies behind it. Refers to the bytes that were decoded.
struct Decoded {
    Head head;
    std::span<const std::byte> header;
    std::span<const std::byte> data_tag;  ///< empty: none
};

/// The token alone, before one knows whose seal it has. Zeros if there are too few bytes.
Token token_of(std::span<const std::byte> bytes);

/// Errors: corrupt (too short, an unknown kind, a wrong tag), which says what.
/// @param data_bytes  that UCX says have come, or are announced.
Result<Decoded> decode(std::span<const std::byte> bytes, std::uint64_t data_bytes,
                       const Sealing& sealing);

/// Does the data have its tag? Always true where there are none.
bool data_fits(std::uint64_t number, std::span<const std::byte> data,
               std::span<const std::byte> tag, const Sealing& sealing);

}  // namespace caesura::transit
