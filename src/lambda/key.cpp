#include "lambda/key.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/invalid.hpp"

namespace caesura::lambda {
namespace {

/// Why a file cannot be trusted to hold a key; empty: it can.
std::string objection_to(const struct stat& about) {
    if (!S_ISREG(about.st_mode)) return "is no plain file";
    if (about.st_uid != ::geteuid() && about.st_uid != 0)
        return fmt::format("belongs to user {}; it has to be yours (user {}) or root's",
                           about.st_uid, ::geteuid());
    if ((about.st_mode & 077) != 0)
        return fmt::format("has mode {:o}; others must not read it: chmod 600",
                           about.st_mode & 0777);
    if (about.st_size != static_cast<off_t>(Key::k_bytes))
        return fmt::format("has {} bytes; a key has {}: head -c {} /dev/urandom", about.st_size,
                           Key::k_bytes, Key::k_bytes);
    return {};
}

}  // namespace

Result<std::shared_ptr<const Key>> Key::read(const std::string& path) {
    if (sodium_init() < 0)
        return Status(StatusCode::unsupported, "libsodium finds no source of random numbers");
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return Status(StatusCode::io, fmt::format("key {}: {}", path, std::strerror(errno)));
    struct stat about {};
    const bool known = ::fstat(file, &about) == 0;
    const std::string why = known ? objection_to(about) : "cannot be looked at";
    auto* secret = why.empty() ? static_cast<unsigned char*>(sodium_malloc(k_bytes)) : nullptr;
    const bool read_all = secret && ::read(file, secret, k_bytes) == static_cast<ssize_t>(k_bytes);
    ::close(file);
    if (!why.empty()) return base::invalid(fmt::format("key {} {}", path, why));
    if (!secret) return Status(StatusCode::no_space, "no locked memory for a key");
    std::shared_ptr<const Key> key(new Key(secret));  // which wipes it, whatever happens
    if (!read_all) return Status(StatusCode::io, fmt::format("key {} cannot be read", path));
    return key;
}

// Of a hash with a name of its own, so that it is no hash that anything else would make.
Key::Key(unsigned char* secret) : secret_(secret) {
    unsigned char hash[32];
    static constexpr char k_purpose[] = "caesura lambda key id";
    crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(k_purpose),
                       sizeof k_purpose, secret_, k_bytes);
    std::memcpy(id_.data(), hash, id_.size());
}

Key::~Key() { sodium_free(secret_); }

}  // namespace caesura::lambda
