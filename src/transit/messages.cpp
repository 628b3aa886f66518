#include "transit/messages.hpp"

#include <new>

#include "transit/message_checks.hpp"
#include "transit/message_fields.hpp"
#include "transit/object_fields.hpp"

namespace caesura::transit {
namespace {

bool same(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
}

template <class M>
concept WithPayload = requires(const M& m) {
    m.payload_bytes;
};

template <class M>
std::uint64_t payload_bytes_of_one(const M& message) {
    if constexpr (WithPayload<M>) return message.payload_bytes;
    return 0;
}

template <class M>
Result<std::vector<std::byte>> encode_one(const M& message) {
    const auto refused = [](const Status& status) {
        return Status{StatusCode::invalid_argument, status.message()};
    };
    if (const Status status = check(message); !status.ok())
        return refused(status.with_context(to_string(M::k_kind)));
    FieldWriter writer(M::k_kind);
    fields(writer, message);
    if (!writer.error().ok()) return refused(writer.error());
    if (writer.size() > k_message_limit_bytes)
        return Status{StatusCode::invalid_argument,
                      fmt::format("{}: {} bytes; a message has at most {}", to_string(M::k_kind),
                                  writer.size(), k_message_limit_bytes)};
    return writer.take();
}

template <class Message>
Result<std::vector<std::byte>> encode_any(const Message& message) try {
    return std::visit([](const auto& one) { return encode_one(one); }, message);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "no memory for a message"};
}

/// @param bytes  behind the kind.
template <class M>
Result<M> parse_one(std::span<const std::byte> bytes, std::uint64_t payload_bytes) {
    M message;
    FieldReader reader(M::k_kind, bytes);
    fields(reader, message);
    if (Status status = reader.end(); !status.ok()) return status;
    if (const Status status = check(message); !status.ok())
        return status.with_context(to_string(M::k_kind));
    const std::uint64_t said = payload_bytes_of_one(message);
    if (said == payload_bytes) return message;
    return Status{StatusCode::corrupt, fmt::format("{}: {} bytes of payload instead of {}",
                                                   to_string(M::k_kind), payload_bytes, said)};
}

/// The one of the variant's messages that has this kind.
template <class Message, std::size_t I = 0>
Result<Message> parse_kind(Kind kind, std::span<const std::byte> bytes,
                           std::uint64_t payload_bytes) {
    if constexpr (I == std::variant_size_v<Message>) {
        return Status{StatusCode::unsupported,
                      fmt::format("a message of kind {} ({}) is not known here",
                                  static_cast<unsigned>(kind), to_string(kind))};
    } else {
        using M = std::variant_alternative_t<I, Message>;
        if (kind != M::k_kind) return parse_kind<Message, I + 1>(kind, bytes, payload_bytes);
        auto message = parse_one<M>(bytes, payload_bytes);
        if (!message.ok()) return message.status();
        return Message(std::move(*message));
    }
}

template <class Message>
Result<Message> parse_any(std::span<const std::byte> bytes, std::uint64_t payload_bytes) try {
    if (bytes.empty()) return Status{StatusCode::insufficient_data, "an empty message"};
    if (bytes.size() > k_message_limit_bytes)
        return Status{StatusCode::corrupt, fmt::format("a message of {} bytes; it has at most {}",
                                                       bytes.size(), k_message_limit_bytes)};
    return parse_kind<Message>(static_cast<Kind>(bytes[0]), bytes.subspan(1), payload_bytes);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space,
                  fmt::format("no memory for a message of {} bytes", bytes.size())};
}

}  // namespace

bool operator==(const Refusal& a, const Refusal& b) { return same(a.status, b.status); }

bool operator==(const Answer& a, const Answer& b) {
    return a.request == b.request && same(a.status, b.status) && a.number == b.number &&
           a.payload_bytes == b.payload_bytes;
}

bool operator==(const FoundObjects& a, const FoundObjects& b) {
    return a.request == b.request && same(a.status, b.status) &&
           a.regions_skipped == b.regions_skipped && a.regions_kept == b.regions_kept &&
           a.more == b.more && a.objects == b.objects;
}

bool operator==(const AnalysedRegion& a, const AnalysedRegion& b) {
    return a.request == b.request && same(a.status, b.status) && a.compute_s == b.compute_s &&
           a.utilisation == b.utilisation && a.device == b.device &&
           a.payload_bytes == b.payload_bytes;
}

bool operator==(const Finished& a, const Finished& b) {
    return a.request == b.request && same(a.status, b.status) && a.records == b.records &&
           a.tails == b.tails && a.used_end == b.used_end && a.is_whole == b.is_whole;
}

bool operator==(const PressedBlock& a, const PressedBlock& b) {
    return a.request == b.request && same(a.status, b.status) && a.filter_mask == b.filter_mask &&
           a.max_error == b.max_error && a.fell_back == b.fell_back &&
           a.compress_s == b.compress_s && a.utilisation == b.utilisation &&
           a.statistics == b.statistics && a.device == b.device &&
           a.payload_bytes == b.payload_bytes;
}

Result<std::vector<std::byte>> encode(const ClientMessage& message) { return encode_any(message); }
Result<std::vector<std::byte>> encode(const ServiceMessage& message) { return encode_any(message); }

Result<ClientMessage> parse_client(std::span<const std::byte> bytes, std::uint64_t payload_bytes) {
    return parse_any<ClientMessage>(bytes, payload_bytes);
}
Result<ServiceMessage> parse_service(std::span<const std::byte> bytes,
                                     std::uint64_t payload_bytes) {
    return parse_any<ServiceMessage>(bytes, payload_bytes);
}

std::uint64_t payload_bytes_of(const ClientMessage& message) {
    return std::visit([](const auto& one) { return payload_bytes_of_one(one); }, message);
}
std::uint64_t payload_bytes_of(const ServiceMessage& message) {
    return std::visit([](const auto& one) { return payload_bytes_of_one(one); }, message);
}

}  // namespace caesura::transit
