// Calls of CUDA's runtime as the rest of the room wants them: Status, the right device, owners.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "caesura/base.hpp"

namespace caesura::device::cuda {

/// `what` was to be done. Errors: no_space (memory), unsupported (no driver, no GPU), io.
Status status_of(cudaError_t code, std::string_view what);

/// The current device of the calling thread is this one while it lives, if status() is ok. Else
/// work for stream 0 would go to another GPU.
class OnDevice {
  public:
    explicit OnDevice(int ordinal) {
        status_ = status_of(cudaGetDevice(&before_), "the current device");
        if (!status_.ok() || before_ == ordinal) return;
        status_ = status_of(cudaSetDevice(ordinal), "making a device current");
        differs_ = status_.ok();
    }
    ~OnDevice() {
        if (differs_) (void)cudaSetDevice(before_);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    const Status& status() const { return status_; }

  private:
    Status status_;
    int before_ = 0;
    bool differs_ = false;
};

inline bool is_aligned(const void* memory, std::uint64_t to) {
    return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

/// Memory of the host that the GPU can reach.
class Pinned {
  public:
    Pinned() = default;
    static Result<Pinned> allocate(std::uint64_t bytes);
    /// So large at least, twice so if it is not yet, so that it seldom grows; what was in it is
    /// lost then, and nothing in a stream may need it. After an error it is as it was.
    Status grow(std::uint64_t bytes);
    ~Pinned() {
        if (memory_ != nullptr) (void)cudaFreeHost(memory_);
    }
    Pinned(Pinned&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Pinned& operator=(Pinned&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    std::byte* data() const { return static_cast<std::byte*>(memory_); }
    std::uint64_t size() const { return bytes_; }
    std::span<std::byte> span() const { return {data(), bytes_}; }
    template <class T>
    T* as() const {
        return static_cast<T*>(memory_);
    }

  private:
    void* memory_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace caesura::device::cuda
