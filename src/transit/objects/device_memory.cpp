#include "transit/objects/device_memory.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "store/checksum.hpp"

namespace caesura::transit {
namespace {

/// A device's work under way takes at least as long as its own clock says.
class AsStated {
  public:
    AsStated(const device::Device& device, bool waits)
        : device_(device), waits_(waits), began_s_(waits ? device.now_s() : 0.0) {}
    ~AsStated() {
        if (!waits_) return;
        const double end_s = wall_began_s_ + device_.now_s() - began_s_;
        timespec until{};
        until.tv_sec = static_cast<time_t>(end_s);
        until.tv_nsec = static_cast<long>((end_s - static_cast<double>(until.tv_sec)) * 1e9);
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        }
    }
    AsStated(const AsStated&) = delete;
    AsStated& operator=(const AsStated&) = delete;

  private:
    const device::Device& device_;
    const bool waits_;
    const double began_s_, wall_began_s_ = base::Clock::steady().now_s();
};

}  // namespace

bool DeviceMemory::is_lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

std::uint64_t DeviceMemory::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return lost_ ? 0 : used_bytes_;
}

bool DeviceMemory::claim(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (lost_ || bytes > options_.most_bytes - used_bytes_) return false;
    used_bytes_ += bytes;
    return true;
}

void DeviceMemory::give_back(std::byte* at, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= bytes;
    if (at != nullptr && !lost_) returned_.push_back(at);
}

Status DeviceMemory::lose(const Status& status) {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    return status.with_context("memory of device " + options_.name);
}

Result<std::byte*> DeviceMemory::copy_there(std::span<const std::byte> bytes) try {
    const std::lock_guard work(at_work_);
    std::vector<std::byte*> returned;
    {
        const std::lock_guard lock(mutex_);
        returned.swap(returned_);
    }
    for (std::byte* const memory : returned)
        if (Status status = device_->release(memory); !status.ok()) return status;
    const AsStated time(*device_, options_.waits_as_stated);
    const auto memory = device_->allocate(bytes.size());
    if (!memory.ok()) return memory.status();
    auto there = device_->to_device(*memory, bytes);
    Status status = there.ok() ? device_->wait(*there) : there.status();
    if (!status.ok()) return status;
    return *memory;
} catch (const std::bad_alloc&) {  // an emulated one is memory of the host
    return Status{StatusCode::no_space, "the service is out of memory"};
}

Result<std::shared_ptr<const DeviceMemory::Block>> DeviceMemory::write(
    std::span<const std::byte> bytes) {
    if (!claim(bytes.size()))
        return Status{StatusCode::no_space, fmt::format("device {} has no room for {} bytes",
                                                        options_.name, bytes.size())};
    const auto memory = copy_there(bytes);
    if (memory.ok())
        return std::make_shared<const Block>(*this, *memory, bytes.size(), store::checksum(bytes));
    give_back(nullptr, bytes.size());
    // Others may use its memory, too: that is no failure of the device.
    if (memory.status().code() == StatusCode::no_space) return memory.status();
    return lose(memory.status());
}

Status DeviceMemory::copy_back(const std::byte* from, std::span<std::byte> to) {
    const std::lock_guard work(at_work_);
    const AsStated time(*device_, options_.waits_as_stated);
    const auto back = device_->to_host(to, from);
    return back.ok() ? device_->wait(*back) : back.status();
}

Status DeviceMemory::read(const Block& block, std::span<std::byte> to) {
    if (is_lost()) return {StatusCode::io, fmt::format("device {} has failed", options_.name)};
    if (Status status = copy_back(block.at_, to); !status.ok()) return lose(status);
    if (store::checksum(to) == block.checksum_) return {};
    return lose({StatusCode::corrupt, "bytes have changed there"});
}

}  // namespace caesura::transit
