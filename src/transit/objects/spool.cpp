#include "transit/objects/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/invalid.hpp"

namespace caesura::transit {

Result<std::unique_ptr<Spool>> Spool::make(const std::string& directory, std::uint64_t most_bytes) {
    const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        if (errno == EOPNOTSUPP || errno == EISDIR)
            return Status{StatusCode::unsupported,
                          fmt::format("sink {}: this file system has no files without a name; use "
                                      "another directory",
                                      directory)};
        return base::invalid(fmt::format("sink {}: {}", directory, std::strerror(errno)));
    }
    return std::unique_ptr<Spool>(
        new Spool(base::file_of_descriptor(descriptor, "sink " + directory), most_bytes));
}

// The first gap that holds it.
std::optional<std::uint64_t> Spool::claim(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > most_bytes_ - used_bytes_) return std::nullopt;
    std::uint64_t at = 0;
    for (const auto& [address, length] : used_) {
        if (address - at >= bytes) break;
        at = address + length;
    }
    if (at > most_bytes_ - bytes) return std::nullopt;  // gaps are too small
    used_[at] = bytes;
    used_bytes_ += bytes;
    return at;
}

void Spool::give_back(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_.erase(address);
    used_bytes_ -= bytes;
}

Result<std::shared_ptr<const Spool::Stretch>> Spool::write(std::span<const std::byte> bytes) {
    const auto address = claim(bytes.size());
    if (!address)
        return Status{StatusCode::no_space,
                      fmt::format("the service's sink is full: {} bytes beside {} of {}",
                                  bytes.size(), used_bytes(), most_bytes_)};
    auto stretch = std::make_shared<const Stretch>(*this, *address, bytes.size());
    if (Status status = file_->write_at(*address, bytes); !status.ok())
        return status.with_context("the service's sink");
    return stretch;
}

std::uint64_t Spool::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
}

}  // namespace caesura::transit
