#include "device/pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::device {

Pool::Pool(Pool&& other) noexcept
    : device_(other.device_),
      cap_bytes_(other.cap_bytes_),
      used_bytes_(std::exchange(other.used_bytes_, 0)),
      peak_bytes_(other.peak_bytes_),
      taken_(std::exchange(other.taken_, {})) {}

Pool::~Pool() {
    // What the link still reads stays with the device: it is not ours to take away from it.
    for (const auto& [memory, bytes] : taken_) (void)device_->release(memory);
}

Result<std::byte*> Pool::take(std::uint64_t bytes) {
    if (bytes > free_bytes())
        return Status{StatusCode::no_space,
                      fmt::format("{} bytes asked for, {} of the cache's {} are taken", bytes,
                                  used_bytes_, cap_bytes_)};
    Result<std::byte*> memory = device_->allocate(bytes);
    if (!memory.ok()) return memory;
    taken_.emplace(*memory, bytes);
    used_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, used_bytes_);
    return memory;
}

Status Pool::give_back(std::byte* memory) {
    const auto found = taken_.find(memory);
    if (found == taken_.end())
        return {StatusCode::invalid_argument, "memory that was not taken from this pool"};
    if (Status status = device_->release(memory); !status.ok()) return status;
    used_bytes_ -= found->second;
    taken_.erase(found);
    return {};
}

}  // namespace caesura::device
