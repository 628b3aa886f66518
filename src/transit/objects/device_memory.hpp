// Memory of a device, for copies of regions that have left this service's memory.
//
// Invariants:
//  - What lies here is a copy: its region lies in the sink or in a file as well.
//  - A copy is what was written, or an error: its checksum is compared when it is read.
//  - After the first error of the device nothing of it is used any more.
//  - Nobody who gives a copy back waits for the device.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caesura/device.hpp"

namespace caesura::transit {

class DeviceMemory {
  public:
    struct Options {
        std::string name;
        std::uint64_t most_bytes = 0;
        /// A copy takes as long as the device's clock says, if that is an emulated one's.
        bool waits_as_stated = false;
    };
    DeviceMemory(Options options, std::unique_ptr<device::Device> device)
        : options_(std::move(options)), device_(std::move(device)) {}

    /// Bytes that lie in it, until the last owner of this goes.
    class Block {
      public:
        Block(DeviceMemory& memory, std::byte* at, std::uint64_t bytes, std::uint64_t checksum)
            : memory_(memory), at_(at), bytes_(bytes), checksum_(checksum) {}
        ~Block() { memory_.give_back(at_, bytes_); }
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;
        std::uint64_t bytes() const { return bytes_; }
        const DeviceMemory& memory() const { return memory_; }
        /// @param to  as many bytes. Any thread of normal priority, or a worker. Errors: io or
        /// corrupt, naming the device; then the device is lost.
        Status read(std::span<std::byte> to) const { return memory_.read(*this, to); }

      private:
        friend class DeviceMemory;
        DeviceMemory& memory_;
        std::byte* const at_;
        const std::uint64_t bytes_, checksum_;
    };
    /// Outlives its blocks. Waits for the copy. Errors: no_space (it is full), those of the device.
    Result<std::shared_ptr<const Block>> write(std::span<const std::byte> bytes);

    const std::string& name() const { return options_.name; }
    std::uint64_t most_bytes() const { return options_.most_bytes; }
    /// 0 of a device that is lost.
    std::uint64_t used_bytes() const;
    bool is_lost() const;

  private:
    Status read(const Block& block, std::span<std::byte> to);
    void give_back(std::byte* at, std::uint64_t bytes);
    bool claim(std::uint64_t bytes);
    Result<std::byte*> copy_there(std::span<const std::byte> bytes);
    Status copy_back(const std::byte* from, std::span<std::byte> to);
    Status lose(const Status& status);

    const Options options_;
    mutable std::mutex mutex_;  ///< of the numbers; nobody waits for the device under it
    std::uint64_t used_bytes_ = 0;
    std::vector<std::byte*> returned_;  ///< given back, to be released
    bool lost_ = false;
    std::mutex at_work_;  ///< one call of the device at a time
    std::unique_ptr<device::Device> device_;
};

}  // namespace caesura::transit
