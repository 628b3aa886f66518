// Memory of a device, for copies of regions that have left this service's memory.
//
// Invariants:
//  - What lies here is a copy: its region lies in the sink or in a file as well.
//  - A copy is what was written, or an error: its checksum is compared when it is read.
//  - After the first error of the device nothing of it is used any more.
//  - Nobody who gives a copy back waits for the device.
//  - There is no lock: a worker at idle priority writes and reads blocks, and may be preempted
//    anywhere (decision D22). The device is called on a thread of its own.
//  - Blocks are claimed and destroyed on threads of normal priority.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/helper_threads.hpp"
#include "caesura/device.hpp"

namespace caesura::transit {

class DeviceMemory {
    class Stretch;

  public:
    struct Options {
        std::string name;
        std::uint64_t most_bytes = 0;
        /// A copy takes as long as the device's clock says, if that is an emulated one's.
        bool waits_as_stated = false;
    };
    DeviceMemory(Options options, std::unique_ptr<device::Device> device)
        : options_(std::move(options)), device_(std::move(device)) {}

    /// Room in it, and what was written there, until the last owner of this goes.
    class Block {
      public:
        explicit Block(DeviceMemory& memory);
        ~Block();
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;
        std::uint64_t bytes() const { return bytes_; }
        const DeviceMemory& memory() const { return memory_; }
        /// Once, on any thread, before anybody reads; waits for the copy.
        /// @param bytes  as many as were claimed. Errors: no_space (the device has less room than
        /// it may use; it is not lost), those of the device, which is lost then.
        Status write(std::span<const std::byte> bytes) { return memory_.write(*this, bytes); }
        /// Else it is nothing but room.
        bool is_written() const;
        /// Where it lies in the device: for the device's own work, as long as this lives. What has
        /// changed there is seen by read() alone.
        std::span<const std::byte> there() const;
        /// @param to  as many bytes. Any thread; waits for the copy. Errors: io or corrupt, naming
        /// the device; then the device is lost.
        Status read(std::span<std::byte> to) const { return memory_.read(*this, to); }

      private:
        friend class DeviceMemory;
        DeviceMemory& memory_;
        std::unique_ptr<Stretch> there_;
        std::uint64_t bytes_ = 0, checksum_ = 0;
    };
    /// Outlives its blocks. Null: it has no room for so many bytes, or is lost.
    std::shared_ptr<Block> claim(std::uint64_t bytes);

    const std::string& name() const { return options_.name; }
    std::uint64_t most_bytes() const { return options_.most_bytes; }
    /// 0 of a device that is lost.
    std::uint64_t used_bytes() const { return is_lost() ? 0 : used_bytes_.load(); }
    bool is_lost() const { return is_lost_.load(); }

  private:
    Status write(Block& block, std::span<const std::byte> bytes);
    Status read(const Block& block, std::span<std::byte> to);
    void give_back(std::unique_ptr<Stretch> there, std::uint64_t bytes);
    Status use(const std::function<Status()>& work);
    Status lose(const Status& status);

    const Options options_;
    std::atomic<std::uint64_t> used_bytes_{0};  ///< of what is claimed
    std::atomic<bool> is_lost_{false};
    const std::unique_ptr<device::Device> device_;  ///< called on the thread alone
    base::HelperThreads thread_;                    ///< one; goes first
};

}  // namespace caesura::transit
