// Memory of the host for what arrives from a device or a file. A vector would fill it with zeros
// first, on the thread of the application, which takes longer than a GPU's link takes to carry what
// goes there. Here the thread that copies touches the pages first.
//
// Invariants: what nobody has written yet is not to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace caesura::checkpoint {

class HostBytes {
  public:
    HostBytes() = default;
    explicit HostBytes(std::uint64_t size)
        : memory_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}
    HostBytes(HostBytes&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    HostBytes& operator=(HostBytes&& other) noexcept {
        memory_ = std::move(other.memory_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    std::uint64_t size() const { return size_; }
    std::byte* data() const { return memory_.get(); }
    std::span<std::byte> span() const { return {memory_.get(), size_}; }
    operator std::span<const std::byte>() const { return span(); }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::uint64_t size_ = 0;
};

}  // namespace caesura::checkpoint
