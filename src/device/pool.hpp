// Memory of a device up to a hard cap: what is held, temporary and ready for the link shares it.
//
// Invariants:
//  - used_bytes() <= cap_bytes() at every moment: whoever asks for more is refused, and the device
//    is not asked.
//  - Whatever was taken is the pool's until it is given back; the destructor gives back the rest.
#pragma once

#include <unordered_map>

#include "caesura/device.hpp"

namespace caesura::device {

class Pool {
  public:
    /// The device must outlive it.
    Pool(Device& device, std::uint64_t cap_bytes) : device_(&device), cap_bytes_(cap_bytes) {}
    ~Pool();
    Pool(Pool&&) noexcept;
    Pool& operator=(Pool&&) = delete;

    /// Errors: no_space (beyond the cap, or the device has none); those of the device.
    Result<std::byte*> take(std::uint64_t bytes);
    /// Errors: invalid_argument (not taken here); those of the device, and it stays taken.
    Status give_back(std::byte* memory);

    std::uint64_t cap_bytes() const { return cap_bytes_; }
    std::uint64_t used_bytes() const { return used_bytes_; }
    std::uint64_t free_bytes() const { return cap_bytes_ - used_bytes_; }
    std::uint64_t peak_bytes() const { return peak_bytes_; }

  private:
    Device* device_;
    std::uint64_t cap_bytes_, used_bytes_ = 0, peak_bytes_ = 0;
    std::unordered_map<std::byte*, std::uint64_t> taken_;
};

}  // namespace caesura::device
