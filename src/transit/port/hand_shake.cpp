#include "transit/port/hand_shake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/invalid.hpp"
#include "base/little_endian.hpp"

namespace caesura::transit {
namespace {

constexpr std::uint32_t k_magic = 0x54534143;  // "CAST"
constexpr std::uint8_t k_hello = 1, k_challenge = 2, k_proof = 3, k_welcome = 4, k_refusal = 5;
// kind, token of the receiver
constexpr std::size_t k_frame_bytes = 1 + sizeof(Token);
constexpr std::string_view k_client_proof = "caesura transit 1 client";
constexpr std::string_view k_server_proof = "caesura transit 1 server";
constexpr std::string_view k_client_key = "caesura transit 1 client to server";
constexpr std::string_view k_server_key = "caesura transit 1 server to client";

Status bad_greeting(std::string_view what) {
    return {StatusCode::corrupt, fmt::format("hand-shake: {}", what)};
}

Status check_version(base::ByteReader& reader) {
    const std::uint32_t magic = reader.u32(), version = reader.u32();
    if (reader.ended_early() || magic != k_magic)
        return bad_greeting("the peer is no port of Caesura");
    if (version == k_hand_shake_version) return {};
    return {
        StatusCode::unsupported,
        fmt::format("hand-shake: the peer speaks version {} of the protocol, this is version {}",
                    version, k_hand_shake_version)};
}

std::string peer_text(std::span<const std::byte> bytes, std::size_t most) {
    return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, most);
}

struct GrowingRoom {
    std::vector<std::byte>& bytes;
    std::byte* room(std::size_t n) {
        bytes.resize(bytes.size() + n);
        return bytes.data() + bytes.size() - n;
    }
    void advance(std::size_t) {}
    std::size_t size() const { return bytes.size(); }
};
using Growing = base::ByteWriter<GrowingRoom>;

std::span<const std::byte> text_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
    std::string out(text.substr(0, most));
    for (char& c : out)
        if (c < ' ' || c > '~') c = '?';
    return out;
}

// --------------------------------------------------------------------------- inside a node

std::vector<std::byte> Greeting::encode() const {
    std::vector<std::byte> bytes;
    Growing writer{GrowingRoom{bytes}};
    writer.u32(k_magic).u32(k_hand_shake_version).bytes(token);
    const std::string name = printable(identity, k_identity_bytes);
    const std::string reason = printable(refused, k_reason_bytes);
    writer.u32(static_cast<std::uint32_t>(reason.size())).bytes(text_bytes(reason));
    writer.u32(static_cast<std::uint32_t>(name.size())).bytes(text_bytes(name));
    writer.u32(static_cast<std::uint32_t>(worker.size())).bytes(worker);
    return bytes;
}

Result<Greeting> Greeting::decode(std::span<const std::byte> bytes) {
    base::ByteReader reader(bytes);
    if (Status status = check_version(reader); !status.ok()) return status;
    Greeting greeting;
    reader.bytes(std::span<std::byte>(greeting.token));
    greeting.refused = peer_text(reader.bytes(reader.u32()), k_reason_bytes);
    greeting.identity = peer_text(reader.bytes(reader.u32()), k_identity_bytes);
    const auto worker = reader.bytes(reader.u32());
    if (reader.ended_early() || !reader.rest().empty() || worker.size() > k_worker_bytes)
        return bad_greeting("a greeting that is cut or too long");
    greeting.worker.assign(worker.begin(), worker.end());
    return greeting;
}

// --------------------------------------------------------------------------- between nodes

HandShake::HandShake(Role role, Self self) : role_(role), secret_(self.secret) {
    mine_.identity = printable(self.identity, k_identity_bytes);
    mine_.trusted = self.trusted_network;
    fill_with_random(mine_.token);
    fill_with_random(mine_.nonce);
}

Token HandShake::receiver_of(std::span<const std::byte> message) {
    Token token{};
    if (message.size() >= k_frame_bytes)
        std::copy_n(message.begin() + 1, token.size(), token.begin());
    return token;
}

bool HandShake::is_hello(std::span<const std::byte> message) {
    return message.size() > k_frame_bytes && message.front() == std::byte{k_hello};
}

std::optional<std::string> HandShake::refusal_in(std::span<const std::byte> message) {
    if (message.size() < k_frame_bytes || message.front() != std::byte{k_refusal}) return {};
    return peer_text(message.subspan(k_frame_bytes), k_reason_bytes);
}

std::vector<std::byte> HandShake::refuse(const Token& receiver, std::string_view reason) {
    std::vector<std::byte> bytes;
    Growing{GrowingRoom{bytes}}.u8(k_refusal).bytes(receiver).bytes(
        text_bytes(reason.substr(0, k_reason_bytes)));
    return bytes;
}

std::vector<std::byte> HandShake::introduce(std::uint8_t kind, const Token& receiver) const {
    std::vector<std::byte> bytes;
    Growing{GrowingRoom{bytes}}
        .u8(kind)
        .bytes(receiver)
        .u32(k_magic)
        .u32(k_hand_shake_version)
        .u8(mine_.trusted ? 1 : 0)
        .bytes(mine_.token)
        .bytes(mine_.nonce)
        .u8(static_cast<std::uint8_t>(mine_.identity.size()))
        .bytes(text_bytes(mine_.identity));
    return bytes;
}

Status HandShake::hear_introduction(std::span<const std::byte> body) {
    base::ByteReader reader(body);
    if (Status status = check_version(reader); !status.ok()) return status;
    other_.trusted = reader.u8() != 0;
    reader.bytes(std::span<std::byte>(other_.token));
    reader.bytes(std::span<std::byte>(other_.nonce));
    other_.identity = peer_text(reader.bytes(reader.u8()), k_identity_bytes);
    if (reader.ended_early() || !reader.rest().empty())
        return bad_greeting("an introduction that is cut");
    if (other_.trusted != mine_.trusted)
        return {StatusCode::unsupported,
                fmt::format("hand-shake: the {} trusts the network and the {} does not: set "
                            "trusted (client) and trusted_network (service) alike",
                            mine_.trusted == (role_ == Role::asks) ? "client" : "service",
                            mine_.trusted == (role_ == Role::asks) ? "service" : "client")};
    return {};
}

std::vector<std::byte> HandShake::prove(std::uint8_t kind, std::string_view label) {
    std::vector<std::byte> bytes;
    Growing{GrowingRoom{bytes}}
        .u8(kind)
        .bytes(other_.token)
        .bytes(authenticate(secret_.key(), label, transcript_));
    return bytes;
}

Status HandShake::check_proof(std::span<const std::byte> body, std::string_view label) {
    if (same(authenticate(secret_.key(), label, transcript_), body)) return {};
    return base::invalid(role_ == Role::asks ? "hand-shake: the service has another secret"
                                             : "hand-shake: the client has another secret");
}

std::vector<std::byte> HandShake::hello() {
    hello_ = introduce(k_hello, Token{});
    step_ = Step::said_hello;
    return hello_;
}

Result<std::vector<std::byte>> HandShake::answer(std::span<const std::byte> message) {
    using Bytes = std::vector<std::byte>;
    if (message.size() < k_frame_bytes) return bad_greeting("a message that is cut");
    const auto kind = std::to_integer<std::uint8_t>(message.front());
    const auto body = message.subspan(k_frame_bytes);
    const bool asks = role_ == Role::asks;
    if (!asks && step_ == Step::begin && kind == k_hello) {
        if (Status status = hear_introduction(body); !status.ok()) return status;
        const Bytes challenge = introduce(k_challenge, other_.token);
        transcript_ = sha256(message, challenge);
        step_ = Step::said_challenge;
        return challenge;
    }
    if (asks && step_ == Step::said_hello && kind == k_challenge) {
        if (Status status = hear_introduction(body); !status.ok()) return status;
        transcript_ = sha256(hello_, message);
        step_ = Step::said_proof;
        return prove(k_proof, k_client_proof);
    }
    if (!asks && step_ == Step::said_challenge && kind == k_proof) {
        if (Status status = check_proof(body, k_client_proof); !status.ok()) return status;
        step_ = Step::done;
        return prove(k_welcome, k_server_proof);
    }
    if (asks && step_ == Step::said_proof && kind == k_welcome) {
        if (Status status = check_proof(body, k_server_proof); !status.ok()) return status;
        step_ = Step::done;
        return Bytes{};
    }
    return bad_greeting("a message out of turn");
}

Key HandShake::direction(Role from) const {
    const Digest digest =
        authenticate(secret_.key(), from == Role::asks ? k_client_key : k_server_key, transcript_);
    Key key;
    std::memcpy(key.data(), digest.data(), k_key_bytes);
    return key;
}

Seal HandShake::outgoing() const { return Seal(direction(role_)); }

Seal HandShake::incoming() const {
    return Seal(direction(role_ == Role::asks ? Role::answers : Role::asks));
}

}  // namespace caesura::transit
