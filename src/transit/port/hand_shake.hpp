// How two ports get to know each other, as bytes in and bytes out.
//
// Inside a node, over the UNIX socket: each side says one Greeting, and the kernel says who it is.
//
// Between nodes, four messages:
//
//     1 hello      asks -> answers   version, token, nonce, identity, trusted?
//     2 challenge  answers -> asks   the same of the other side
//     3 proof      asks -> answers   HMAC(secret, "client", transcript)
//     4 welcome    answers -> asks   HMAC(secret, "server", transcript)
//
// The transcript is the SHA-256 of messages 1 and 2. Who asks proves itself first, so that a
// stranger who knocks gets nothing to guess the secret from. Each direction's key is an HMAC of the
// transcript under a label of its own: a message of one connection or direction fits no other.
//
// Decoding reads inside the bytes it got, allocates no more than they have, and gives `corrupt`.
// Text of a peer is cut and made printable before anybody sees it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transit/port/packet.hpp"

namespace caesura::transit {

inline constexpr std::uint32_t k_hand_shake_version = 1;
inline constexpr std::size_t k_identity_bytes = 255;
inline constexpr std::size_t k_reason_bytes = 500;

/// Cut to `most` bytes; what is not printable ASCII becomes '?'.
std::string printable(std::string_view text, std::size_t most);

/// What is said over a UNIX socket, in one packet each way: who one is, or why not.
struct Greeting {
    Token token{};  ///< what comes back carries it
    std::string identity{};
    std::vector<std::byte> worker{};  ///< UCX's address of this side
    std::string refused{};            ///< not empty: this, and nothing else, is said

    static constexpr std::size_t k_worker_bytes = 16 << 10;
    static constexpr std::size_t k_max_bytes = k_worker_bytes + 1024;
    std::vector<std::byte> encode() const;
    /// Errors: corrupt; unsupported (another version of the protocol).
    static Result<Greeting> decode(std::span<const std::byte> bytes);
};

/// One side of a hand-shake between nodes.
class HandShake {
  public:
    enum class Role { asks, answers };
    struct Self {
        Secret secret;
        std::string identity;
        bool trusted_network = false;
    };

    HandShake(Role role, Self self);

    /// What every message begins with: who it is for. Zeros in a hello.
    static Token receiver_of(std::span<const std::byte> message);
    static bool is_hello(std::span<const std::byte> message);
    /// The other side's reason, if this is a refusal.
    static std::optional<std::string> refusal_in(std::span<const std::byte> message);
    /// "I do not talk to you", for whoever said hello with this token.
    static std::vector<std::byte> refuse(const Token& receiver, std::string_view reason);

    /// Message 1. Only for who asks.
    std::vector<std::byte> hello();
    /// Takes the next message of the other side.
    /// @return  the message to answer with; nothing after the last one.
    /// Errors, all for good: corrupt (no message of ours, or out of turn); unsupported (version, or
    /// only one side trusts the network); invalid_argument (it does not know the secret).
    Result<std::vector<std::byte>> answer(std::span<const std::byte> message);

    /// Has the other side proved itself?
    bool done() const { return step_ == Step::done; }
    const Token& own_token() const { return mine_.token; }
    const Token& other_token() const { return other_.token; }
    /// As it says itself; known after its first message, believed when done().
    const std::string& other_identity() const { return other_.identity; }
    /// The keys of the two directions. Only when done().
    Seal outgoing() const;
    Seal incoming() const;

  private:
    enum class Step { begin, said_hello, said_challenge, said_proof, done };
    struct Introduction {
        Token token{};
        std::array<std::byte, 32> nonce{};
        std::string identity;
        bool trusted = false;
    };
    std::vector<std::byte> introduce(std::uint8_t kind, const Token& receiver) const;
    Status hear_introduction(std::span<const std::byte> body);
    std::vector<std::byte> prove(std::uint8_t kind, std::string_view label);
    Status check_proof(std::span<const std::byte> body, std::string_view label);
    Key direction(Role from) const;

    Role role_;
    Secret secret_;
    Introduction mine_, other_;
    Step step_ = Step::begin;
    std::vector<std::byte> hello_;  ///< message 1, as it was sent
    Digest transcript_{};
};

}  // namespace caesura::transit
