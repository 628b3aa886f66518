#include "store/object_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "store/byte_order.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_nil_message = 0x00, k_pipeline_message = 0x0b, k_continuation_message = 0x10;
constexpr std::size_t k_signature_bytes = 4, k_checksum_bytes = 4, k_continuation_bytes = 16;

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t width) {
    return base::get_little(bytes.subspan(at, width).data(), width);
}

void put_number(std::span<std::byte> bytes, std::size_t at, std::uint64_t value,
                std::size_t width) {
    base::put_little(bytes.subspan(at, width).data(), value, width);
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
        if (const auto it = numbers.find(id); it != numbers.end())
            put_number(body, at, it->second, 2);
        at += fixed + name + 4 * values;
    }
    return at <= body.size();
}

void renew_checksum(std::span<std::byte> piece) {
    const auto content = piece.first(piece.size() - k_checksum_bytes);
    put_number(piece, content.size(), metadata_checksum(content), k_checksum_bytes);
}

}  // namespace

Result<ObjectHeader> ObjectHeader::read(const ReadAt& read_at, std::uint64_t address) {
    std::array<std::byte, 64> front{};
    if (Status status = read_at(address, front); !status.ok()) return status;
    if (std::memcmp(front.data(), "OHDR", 4) != 0 || front[4] != std::byte{2})
        return malformed(address, "signature or version");
    ObjectHeader header;
    const auto flags = std::to_integer<unsigned>(front[5]);
    std::size_t at = 6;
    if ((flags & 0x20) != 0) at += 16;  // times
    if ((flags & 0x10) != 0) at += 4;   // attribute phase change values
    const std::size_t width = std::size_t{1} << (flags & 0x03);
    const std::uint64_t messages = number_at(front, at, width);
    header.first_message_ = at + width;
    header.prefix_bytes_ = (flags & 0x04) != 0 ? 6 : 4;
    header.wanted_ = {{address, header.first_message_ + messages + k_checksum_bytes}};
    while (header.pieces_.size() < header.wanted_.size())
        if (Status status = header.read_piece(read_at); !status.ok()) return status;
    return header;
}

/// The next one that is wanted. Its continuations are wanted then.
Status ObjectHeader::read_piece(const ReadAt& read_at) {
    const std::size_t number = pieces_.size();
    const auto [address, size] = wanted_[number];
    const std::size_t first = number == 0 ? first_message_ : k_signature_bytes;
    if (size < first + k_checksum_bytes || size > k_most_piece_bytes || number == k_most_pieces)
        return malformed(address, "the size of a piece");
    Extent piece{address, std::vector<std::byte>(size)};
    if (Status status = read_at(address, piece.bytes); !status.ok()) return status;
    const std::size_t end = size - k_checksum_bytes;
    if (number_at(piece.bytes, end, 4) != metadata_checksum(std::span(piece.bytes).first(end)))
        return malformed(address, "checksum");
    for (std::size_t at = first; at + prefix_bytes_ <= end;) {
        const Message one{static_cast<unsigned>(number_at(piece.bytes, at, 1)), number,
                          at + prefix_bytes_, number_at(piece.bytes, at + 1, 2)};
        if (one.begin + one.bytes > end) return malformed(address, "a message is too long");
        if (one.type == k_continuation_message && one.bytes >= k_continuation_bytes)
            wanted_.push_back(
                {number_at(piece.bytes, one.begin, 8), number_at(piece.bytes, one.begin + 8, 8)});
        messages_.push_back(one);
        at = one.begin + one.bytes;
    }
    pieces_.push_back(std::move(piece));
    return {};
}

std::span<std::byte> ObjectHeader::body(const Message& message) {
    return std::span(pieces_[message.piece].bytes).subspan(message.begin, message.bytes);
}

void ObjectHeader::write(Overlay& overlay) {
    for (Extent& piece : pieces_) {
        renew_checksum(piece.bytes);
        overlay.write(piece.address, piece.bytes);
    }
}

bool ObjectHeader::gather() {
    std::vector<std::byte>& first = pieces_[0].bytes;
    const std::size_t room = first.size() - first_message_ - k_checksum_bytes;
    std::erase_if(messages_, [](const Message& one) {
        return one.type == k_nil_message || one.type == k_continuation_message;
    });
    std::size_t total = 0;
    for (const Message& one : messages_) total += prefix_bytes_ + one.bytes;
    const bool fits = total <= room;
    const std::size_t naming = fits ? 0 : prefix_bytes_ + k_continuation_bytes;
    if (room < naming) return false;
    std::vector<std::byte> kept,
        moved = {std::byte{'O'}, std::byte{'C'}, std::byte{'H'}, std::byte{'K'}};
    bool keeps = true;  // in their order: what follows one that has no room moves, too
    for (const Message& one : messages_) {
        const std::size_t bytes = prefix_bytes_ + one.bytes;
        keeps = keeps && kept.size() + bytes <= room - naming;
        const std::byte* const from = pieces_[one.piece].bytes.data() + one.begin - prefix_bytes_;
        std::vector<std::byte>& to = keeps ? kept : moved;
        to.insert(to.end(), from, from + bytes);
    }
    const auto add_prefix = [&](unsigned type, std::size_t bytes) {
        kept.resize(kept.size() + prefix_bytes_);
        const std::size_t at = kept.size() - prefix_bytes_;
        put_number(kept, at, type, 1);
        put_number(kept, at + 1, bytes, 2);
    };
    if (!fits) {
        add_prefix(k_continuation_message, k_continuation_bytes);
        continuation_ = first_message_ + kept.size();
        kept.resize(kept.size() + k_continuation_bytes);
        moved.resize(moved.size() + k_checksum_bytes);
    }
    if (const std::size_t left = room - kept.size(); left >= prefix_bytes_)
        add_prefix(k_nil_message, left - prefix_bytes_);
    kept.resize(room);  // the nil message's body, or a gap that is shorter than a prefix
    std::copy(kept.begin(), kept.end(), first.data() + first_message_);
    pieces_.resize(1);
    messages_.clear();
    if (!fits) pieces_.push_back({0, std::move(moved)});
    return true;
}

std::uint64_t ObjectHeader::continuation_bytes() const {
    return pieces_.size() > 1 ? pieces_[1].bytes.size() : 0;
}

void ObjectHeader::place_continuation(std::uint64_t address) {
    pieces_[1].address = address;
    put_number(pieces_[0].bytes, continuation_, address, 8);
    put_number(pieces_[0].bytes, continuation_ + 8, pieces_[1].bytes.size(), 8);
}

Status rename_filters(Overlay& overlay, std::uint64_t address,
                      const std::map<unsigned, unsigned>& numbers) {
    const auto read = [&](std::uint64_t at, std::span<std::byte> bytes) -> Status {
        overlay.read(at, bytes);
        return {};
    };
    auto header = ObjectHeader::read(read, address);
    if (!header.ok()) return header.status();
    for (const ObjectHeader::Message& one : header->messages())
        if (one.type == k_pipeline_message && !rename_in_pipeline(header->body(one), numbers))
            return malformed(address, "filter pipeline message");
    header->write(overlay);
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
