#include "transit/port/secret.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/descriptor.hpp"
#include "base/invalid.hpp"
#include "base/little_endian.hpp"

namespace caesura::transit {

using base::Descriptor;

namespace {

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

// Wiped, whatever way the function is left.
struct Wiped {
    std::vector<std::byte> bytes;
    ~Wiped() { sodium_memzero(bytes.data(), bytes.size()); }
};

Status check_owner(const std::string& path, int descriptor) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0)
        return {StatusCode::io, fmt::format("secret {}: {}", path, std::strerror(errno))};
    if (!S_ISREG(info.st_mode))
        return base::invalid(fmt::format("secret {}: it is no ordinary file", path));
    if (info.st_uid != ::geteuid())
        return base::invalid(fmt::format("secret {}: it belongs to user {}, and this is user {}",
                                         path, info.st_uid, ::geteuid()));
    if ((info.st_mode & 077) != 0)
        return base::invalid(fmt::format(
            "secret {}: others than its owner may use it (mode {:04o}); run chmod 600 on it", path,
            info.st_mode & 07777));
    return {};
}

Status read_all(const std::string& path, int descriptor, std::span<std::byte> into,
                std::size_t& got) {
    got = 0;
    while (got < into.size()) {
        const ssize_t n = ::read(descriptor, into.data() + got, into.size() - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return {StatusCode::io, fmt::format("secret {}: {}", path, std::strerror(errno))};
        if (n == 0) break;
        got += static_cast<std::size_t>(n);
    }
    return {};
}

bool is_space(std::byte byte) {
    return byte == std::byte{' '} || byte == std::byte{'\n'} || byte == std::byte{'\r'} ||
           byte == std::byte{'\t'};
}

}  // namespace

Key::~Key() { sodium_memzero(bytes_.data(), bytes_.size()); }

Status prepare_cryptography() {
    if (sodium_init() >= 0) return {};
    return {StatusCode::internal, "libsodium cannot be initialised"};
}

void fill_with_random(std::span<std::byte> bytes) { randombytes_buf(bytes.data(), bytes.size()); }

Digest sha256(std::span<const std::byte> first, std::span<const std::byte> second) {
    Digest digest;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, raw(first.data()), first.size());
    crypto_hash_sha256_update(&state, raw(second.data()), second.size());
    crypto_hash_sha256_final(&state, raw(digest.data()));
    return digest;
}

Digest authenticate(const Key& key, std::string_view label, std::span<const std::byte> message) {
    const std::byte zero{0};
    Digest digest;
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key.data(), k_key_bytes);
    const auto label_bytes = std::as_bytes(std::span(label));
    crypto_auth_hmacsha256_update(&state, raw(label_bytes.data()), label_bytes.size());
    crypto_auth_hmacsha256_update(&state, raw(&zero), 1);
    crypto_auth_hmacsha256_update(&state, raw(message.data()), message.size());
    crypto_auth_hmacsha256_final(&state, raw(digest.data()));
    sodium_memzero(&state, sizeof state);
    return digest;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<Secret> Secret::read(const std::string& path) {
    // O_NONBLOCK: a pipe without a writer would be waited for.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open())
        return Status{StatusCode::io, fmt::format("secret {}: {}", path, std::strerror(errno))};
    if (Status status = check_owner(path, file.get()); !status.ok()) return status;
    Wiped all{std::vector<std::byte>(k_max_bytes + 1)};
    std::size_t bytes = 0;
    if (Status status = read_all(path, file.get(), all.bytes, bytes); !status.ok()) return status;
    if (bytes <= k_max_bytes)
        while (bytes > 0 && is_space(all.bytes[bytes - 1])) --bytes;
    auto secret = of(std::span(all.bytes).first(bytes));
    if (!secret.ok()) return secret.status().with_context("secret " + path);
    return secret;
}

Result<Secret> Secret::of(std::span<const std::byte> bytes) {
    if (bytes.size() < k_min_bytes || bytes.size() > k_max_bytes)
        return base::invalid(fmt::format("{} {} bytes; a secret has {} to {}",
                                         bytes.size() > k_max_bytes ? "at least" : "it has",
                                         bytes.size(), k_min_bytes, k_max_bytes));
    if (Status status = prepare_cryptography(); !status.ok()) return status;
    Secret secret;
    crypto_hash_sha256(secret.key_.data(), raw(bytes.data()), bytes.size());
    return secret;
}

Tag Seal::tag(Use use, std::uint64_t number, std::span<const std::byte> bytes) const {
    std::array<std::byte, 12> nonce;
    base::put_little(nonce.data(), static_cast<std::uint32_t>(use), 4);
    base::put_little(nonce.data() + 4, number, 8);
    Key once;
    crypto_stream_chacha20_ietf(once.data(), k_key_bytes, raw(nonce.data()), key_.data());
    Tag tag;
    crypto_onetimeauth(raw(tag.data()), raw(bytes.data()), bytes.size(), once.data());
    return tag;
}

bool Seal::fits(Use use, std::uint64_t number, std::span<const std::byte> bytes,
                std::span<const std::byte> given) const {
    return same(tag(use, number, bytes), given);
}

}  // namespace caesura::transit
