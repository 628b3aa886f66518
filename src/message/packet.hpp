// The bytes of a message: magic, numbers, and a tag by which the hearer knows the sender.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "message/news.hpp"

namespace caesura::message {

inline constexpr std::size_t k_packet_bytes = 56;
using Packet = std::array<std::byte, k_packet_bytes>;

/// Before anything else of this room is called. Errors: unsupported (libsodium does not start).
Status prepare_cryptography();
Packet encode(const Address& hearer, const News& news);
/// nullopt: it does not come from this job.
std::optional<News> decode(const Address& hearer, const Packet& packet);

}  // namespace caesura::message
