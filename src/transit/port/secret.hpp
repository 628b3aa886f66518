// The secret that both ends of a connection between nodes know, and what is derived from it.
//
// Invariants:
//  - Keys are wiped when their owner is destroyed; none is ever printed or put into a message.
//  - What is compared with something a peer has sent is compared in constant time.
//
// A Seal authenticates what goes one way over one connection: Poly1305 with a one-time key that
// ChaCha20 makes of the session's key, the number of the packet and what it is for. That is
// RFC 8439 with all of it as associated data. HMAC-SHA256 does the hand-shake only; link_bench
// measures both.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "caesura/base.hpp"

namespace caesura::transit {

inline constexpr std::size_t k_key_bytes = 32;
inline constexpr std::size_t k_tag_bytes = 16;

/// 32 bytes that nobody else should see; wiped in the end.
class Key {
  public:
    Key() = default;
    Key(const Key& other) = default;
    Key& operator=(const Key& other) = default;
    ~Key();
    std::uint8_t* data() { return bytes_.data(); }
    const std::uint8_t* data() const { return bytes_.data(); }

  private:
    std::array<std::uint8_t, k_key_bytes> bytes_{};
};

using Digest = std::array<std::byte, 32>;  ///< of SHA-256 and HMAC-SHA256
using Tag = std::array<std::byte, k_tag_bytes>;

/// Call before anything else here; again as often as one likes. Errors: internal.
Status prepare_cryptography();

/// Bytes that nobody can foresee.
void fill_with_random(std::span<std::byte> bytes);

Digest sha256(std::span<const std::byte> first, std::span<const std::byte> second);
/// HMAC-SHA256 over `label`, a zero byte and `message`: a label names the only use of the result.
Digest authenticate(const Key& key, std::string_view label, std::span<const std::byte> message);
/// Are they the same? In constant time.
bool same(std::span<const std::byte> a, std::span<const std::byte> b);

/// What the operator's file says.
class Secret {
  public:
    static constexpr std::size_t k_min_bytes = 32, k_max_bytes = 4096;

    /// Of a file of k_min_bytes to k_max_bytes; white space at its end does not count, so that an
    /// editor may have touched it. `openssl rand -hex 32` makes a good one.
    /// Errors: io (cannot be read); invalid_argument: is no ordinary file, is another user's, may
    /// be read or written by others than its owner, too short, too long. All name the path.
    static Result<Secret> read(const std::string& path);
    /// Errors: invalid_argument (length).
    static Result<Secret> of(std::span<const std::byte> bytes);

    const Key& key() const { return key_; }

  private:
    Key key_;
};

/// One direction of one connection. Thread-safe: it has no state but its key.
class Seal {
  public:
    /// No two tags of one key are made for the same use and number.
    enum class Use : std::uint32_t { head = 1, data = 2, beat = 3 };

    explicit Seal(const Key& key) : key_(key) {}
    Tag tag(Use use, std::uint64_t number, std::span<const std::byte> bytes) const;
    bool fits(Use use, std::uint64_t number, std::span<const std::byte> bytes,
              std::span<const std::byte> tag) const;

  private:
    Key key_;
};

}  // namespace caesura::transit
