#include "message/packet.hpp"

#include <sodium.h>

#include <algorithm>

#include "base/little_endian.hpp"

namespace caesura::message {
namespace {

constexpr std::uint64_t k_magic = 0x0a3157454e534143;  // "CASNEW1\n"
constexpr std::size_t k_tag_at = 24;
static_assert(k_tag_at + crypto_auth_hmacsha256_BYTES == k_packet_bytes);

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

Status prepare_cryptography() {
    if (sodium_init() >= 0) return {};
    return {StatusCode::unsupported, "libsodium does not start"};
}

Packet encode(const Address& hearer, const News& news) {
    Packet packet{};
    base::put_little(packet.data(), k_magic, 8);
    base::put_little(packet.data() + 8, news.about, 8);
    base::put_little(packet.data() + 16, news.from, 8);
    crypto_auth_hmacsha256(raw(packet.data() + k_tag_at), raw(packet.data()), k_tag_at,
                           hearer.key.data());
    return packet;
}

std::optional<News> decode(const Address& hearer, const Packet& packet) {
    Packet bytes = packet;
    if (base::get_little(bytes.data(), 8) != k_magic ||
        crypto_auth_hmacsha256_verify(raw(bytes.data() + k_tag_at), raw(bytes.data()), k_tag_at,
                                      hearer.key.data()) != 0)
        return std::nullopt;
    return News{base::get_little(bytes.data() + 8, 8), base::get_little(bytes.data() + 16, 8)};
}

}  // namespace caesura::message
