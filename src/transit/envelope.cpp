#include "transit/envelope.hpp"

#include <cstring>

namespace caesura::transit {
namespace {

constexpr std::byte k_in_head{0}, k_before_payload{1};
constexpr std::size_t k_lead_unit = 64;
constexpr std::size_t k_long_head_bytes = 1 + sizeof(std::uint64_t);

}  // namespace

Envelope wrap(std::vector<std::byte> message, std::size_t most_head_bytes) {
    Envelope envelope;
    if (message.size() < most_head_bytes) {
        envelope.head.reserve(message.size() + 1);
        envelope.head.push_back(k_in_head);
        envelope.head.insert(envelope.head.end(), message.begin(), message.end());
        return envelope;
    }
    const std::uint64_t bytes = message.size();
    envelope.head.resize(k_long_head_bytes, k_before_payload);
    std::memcpy(envelope.head.data() + 1, &bytes, sizeof bytes);
    envelope.lead = std::move(message);
    envelope.lead.resize((bytes + k_lead_unit - 1) / k_lead_unit * k_lead_unit);
    return envelope;
}

Result<Unwrapped> unwrap(std::span<const std::byte> head, std::span<const std::byte> carried) {
    if (!head.empty() && head[0] == k_in_head) return Unwrapped{head.subspan(1), carried};
    if (head.size() != k_long_head_bytes || head[0] != k_before_payload)
        return Status(StatusCode::corrupt, "the head of a message is none");
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, head.data() + 1, sizeof bytes);
    if (bytes > carried.size())
        return Status(StatusCode::corrupt, "a message is longer than what came of it");
    const std::uint64_t lead = (bytes + k_lead_unit - 1) / k_lead_unit * k_lead_unit;
    if (lead > carried.size())
        return Status(StatusCode::corrupt, "a message is longer than what came of it");
    return Unwrapped{carried.first(bytes), carried.subspan(lead)};
}

}  // namespace caesura::transit
