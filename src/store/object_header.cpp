#include "store/object_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "store/byte_order.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_pipeline_message = 0x0b, k_continuation_message = 0x10;
constexpr std::size_t k_signature_bytes = 4, k_checksum_bytes = 4;

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t width) {
    return base::get_little(bytes.subspan(at, width).data(), width);
}

void put_16(std::span<std::byte> bytes, std::size_t at, unsigned value) {
    base::put_little(bytes.subspan(at, 2).data(), value, 2);
}

Status malformed(std::uint64_t address, std::string_view what) {
    return {StatusCode::internal,
            fmt::format("object header at {}: {}; this HDF5 library writes a form that the store "
                        "does not know",
                        address, what)};
}

/// Body of a version 2 pipeline message. Returns false if it is not one.
bool rename_in_pipeline(std::span<std::byte> body, const std::map<unsigned, unsigned>& numbers) {
    if (body.size() < 2 || body[0] != std::byte{2}) return false;
    const auto n_filters = std::to_integer<unsigned>(body[1]);
    std::size_t at = 2;
    for (unsigned i = 0; i < n_filters; ++i) {
        if (at + 2 > body.size()) return false;
        const auto id = static_cast<unsigned>(number_at(body, at, 2));
        // Numbers below 256 are stored without a name.
        const std::size_t fixed = id >= 256 ? 8 : 6;
        if (at + fixed > body.size()) return false;
        const std::size_t name = id >= 256 ? number_at(body, at + 2, 2) : 0;
        const std::size_t values = number_at(body, at + fixed - 2, 2);
        if (const auto it = numbers.find(id); it != numbers.end()) put_16(body, at, it->second);
        at += fixed + name + 4 * values;
    }
    return at <= body.size();
}

struct HeaderChunk {  // of an object header: the first or a continuation
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // signature and checksum included
    std::size_t first_message = 0;
};

/// Walk the messages of one piece; rename in it, and note its continuations.
Status rename_in_chunk(Overlay& overlay, const HeaderChunk& piece, bool has_order,
                       const std::map<unsigned, unsigned>& numbers,
                       std::vector<HeaderChunk>& pieces) {
    if (!overlay.covers(piece.address, piece.bytes))
        return malformed(piece.address, "not all of it is in memory");
    std::vector<std::byte> bytes(piece.bytes);
    overlay.read(piece.address, bytes);
    const std::size_t end = bytes.size() - k_checksum_bytes;
    const auto content = std::span(bytes).first(end);
    if (number_at(bytes, end, 4) != metadata_checksum(content))
        return malformed(piece.address, "checksum");
    const std::size_t prefix = has_order ? 6 : 4;
    for (std::size_t at = piece.first_message; at + prefix <= end;) {
        const auto type = number_at(bytes, at, 1);
        const std::size_t size = number_at(bytes, at + 1, 2);
        at += prefix;
        if (at + size > end) return malformed(piece.address, "a message is too long");
        if (type == k_pipeline_message && !rename_in_pipeline(content.subspan(at, size), numbers))
            return malformed(piece.address, "filter pipeline message");
        if (type == k_continuation_message && size >= 16)
            pieces.push_back(
                {number_at(bytes, at, 8), number_at(bytes, at + 8, 8), k_signature_bytes});
        at += size;
    }
    RecordWriter(std::span(bytes).subspan(end)).u32(metadata_checksum(content));
    overlay.write(piece.address, bytes);
    return {};
}

}  // namespace

Status rename_filters(Overlay& overlay, std::uint64_t address,
                      const std::map<unsigned, unsigned>& numbers) {
    std::array<std::byte, 64> front{};
    overlay.read(address, front);
    if (std::memcmp(front.data(), "OHDR", 4) != 0 || front[4] != std::byte{2})
        return malformed(address, "signature or version");
    const auto flags = std::to_integer<unsigned>(front[5]);
    std::size_t at = 6;
    if ((flags & 0x20) != 0) at += 16;  // times
    if ((flags & 0x10) != 0) at += 4;   // attribute phase change values
    const std::size_t width = std::size_t{1} << (flags & 0x03);
    const std::uint64_t messages = number_at(front, at, width);
    at += width;
    std::vector<HeaderChunk> pieces = {{address, at + messages + k_checksum_bytes, at}};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const HeaderChunk piece = pieces[i];  // the vector grows below
        if (piece.bytes < piece.first_message + k_checksum_bytes)
            return malformed(address, "a piece is too short");
        if (const Status status =
                rename_in_chunk(overlay, piece, (flags & 0x04) != 0, numbers, pieces);
            !status.ok())
            return status;
    }
    return {};
}

std::uint32_t metadata_checksum(std::span<const std::byte> bytes) {
    using std::rotl;
    std::uint32_t a = 0xdeadbeefu + static_cast<std::uint32_t>(bytes.size());
    std::uint32_t b = a, c = a;
    std::size_t at = 0;
    // Up to four bytes as a little-endian word; bytes beyond the end count as zero.
    const auto word = [&](std::size_t from) {
        if (from >= bytes.size()) return std::uint32_t{0};
        const std::size_t n = std::min<std::size_t>(4, bytes.size() - from);
        return static_cast<std::uint32_t>(base::get_little(bytes.data() + from, n));
    };
    for (; bytes.size() - at > 12; at += 12) {
        a += word(at), b += word(at + 4), c += word(at + 8);
        a -= c, a ^= rotl(c, 4), c += b;
        b -= a, b ^= rotl(a, 6), a += c;
        c -= b, c ^= rotl(b, 8), b += a;
        a -= c, a ^= rotl(c, 16), c += b;
        b -= a, b ^= rotl(a, 19), a += c;
        c -= b, c ^= rotl(b, 4), b += a;
    }
    if (bytes.empty()) return c;
    a += word(at), b += word(at + 4), c += word(at + 8);
    c ^= b, c -= rotl(b, 14);
    a ^= c, a -= rotl(c, 11);
    b ^= a, b -= rotl(a, 25);
    c ^= b, c -= rotl(b, 16);
    a ^= c, a -= rotl(c, 4);
    b ^= a, b -= rotl(a, 14);
    c ^= b, c -= rotl(b, 24);
    return c;
}

}  // namespace caesura::store
