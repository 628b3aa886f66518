#include "transit/port/packet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/little_endian.hpp"

namespace caesura::transit {
namespace {

std::size_t tags_bytes(const Sealing& sealing) {
    if (sealing.seal == nullptr) return 0;
    return sealing.data ? 2 * k_tag_bytes : k_tag_bytes;
}

Seal::Use use_of(PacketKind kind) {
    return kind == PacketKind::beat ? Seal::Use::beat : Seal::Use::head;
}

}  // namespace

std::vector<std::byte> encode(const Head& head, std::span<const std::byte> header,
                              std::span<const std::byte> data, const Sealing& sealing) {
    std::vector<std::byte> bytes(k_head_bytes + header.size() + tags_bytes(sealing));
    base::ByteWriter<base::FixedRoom> writer{base::FixedRoom(bytes)};
    writer.u8(static_cast<std::uint8_t>(head.kind))
        .bytes(head.token)
        .u64(head.number)
        .u64(head.total)
        .u64(head.data_bytes)
        .bytes(header);
    if (sealing.seal == nullptr) return bytes;
    // A heartbeat has no data, but has the tag's place: all heads of a connection look alike.
    if (sealing.data)
        writer.bytes(head.kind == PacketKind::beat
                         ? Tag{}
                         : sealing.seal->tag(Seal::Use::data, head.number, data));
    // The tag of the head covers the tag of the data: neither can be moved to another packet.
    const auto covered = std::span<const std::byte>(bytes).first(writer.at());
    writer.bytes(sealing.seal->tag(use_of(head.kind), head.number, covered));
    return bytes;
}

Token token_of(std::span<const std::byte> bytes) {
    Token token{};
    if (bytes.size() >= k_head_bytes) std::copy_n(bytes.begin() + 1, token.size(), token.begin());
    return token;
}

Result<Decoded> decode(std::span<const std::byte> bytes, std::uint64_t data_bytes,
                       const Sealing& sealing) {
    const std::size_t tags = tags_bytes(sealing);
    if (bytes.size() < k_head_bytes + tags)
        return bad_packet(fmt::format("a packet with a head of {} bytes", bytes.size()));
    base::ByteReader reader(bytes);
    Decoded decoded;
    Head& head = decoded.head;
    const std::uint8_t kind = reader.u8();
    head.kind = static_cast<PacketKind>(kind);
    reader.bytes(std::span<std::byte>(head.token));
    head.number = reader.u64();
    head.total = reader.u64();
    head.data_bytes = reader.u64();
    if (kind < 1 || kind > 5) return bad_packet(fmt::format("a packet of kind {}", kind));
    if (sealing.seal != nullptr) {
        const std::size_t covered = bytes.size() - k_tag_bytes;
        if (!sealing.seal->fits(use_of(head.kind), head.number, bytes.first(covered),
                                bytes.subspan(covered)))
            return bad_packet(fmt::format("packet {} is not the peer's own", head.number));
        if (sealing.data) decoded.data_tag = bytes.subspan(covered - k_tag_bytes, k_tag_bytes);
    }
    if (head.data_bytes != data_bytes)
        return bad_packet(fmt::format("packet {} has {} bytes of data and says {}", head.number,
                                      data_bytes, head.data_bytes));
    decoded.header = bytes.subspan(k_head_bytes, bytes.size() - k_head_bytes - tags);
    return decoded;
}

bool data_fits(std::uint64_t number, std::span<const std::byte> data,
               std::span<const std::byte> tag, const Sealing& sealing) {
    if (sealing.seal == nullptr || !sealing.data) return true;
    return sealing.seal->fits(Seal::Use::data, number, data, tag);
}

}  // namespace caesura::transit
