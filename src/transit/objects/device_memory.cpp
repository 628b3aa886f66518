#include "transit/objects/device_memory.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ctime>
#include <functional>

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

// Where a block lies in the device. It releases itself there.
class DeviceMemory::Stretch final : public base::HelperCall {
  public:
    explicit Stretch(DeviceMemory& memory) : memory_(memory) {}
    void make() override {
        const std::unique_ptr<Stretch> self(this);
        if (memory_.is_lost()) return;
        if (Status status = memory_.device_->release(at); !status.ok()) (void)memory_.lose(status);
    }
    std::byte* at = nullptr;  ///< null: nothing was written

  private:
    DeviceMemory& memory_;
};

DeviceMemory::Block::Block(DeviceMemory& memory)
    : memory_(memory), there_(std::make_unique<Stretch>(memory)) {}

DeviceMemory::Block::~Block() { memory_.give_back(std::move(there_), bytes_); }

bool DeviceMemory::Block::is_written() const { return there_->at != nullptr; }

std::span<const std::byte> DeviceMemory::Block::there() const { return {there_->at, bytes_}; }

std::shared_ptr<DeviceMemory::Block> DeviceMemory::claim(std::uint64_t bytes) {
    auto block = std::make_shared<Block>(*this);  // before: if it throws, nothing is claimed
    std::uint64_t used = used_bytes_.load();
    do {
        if (is_lost() || bytes > options_.most_bytes - used) return nullptr;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    block->bytes_ = bytes;
    return block;
}

// First the device hears of it. So who finds the room free is behind it in the device's order.
void DeviceMemory::give_back(std::unique_ptr<Stretch> there, std::uint64_t bytes) {
    if (there->at != nullptr) thread_.give(*there.release());
    used_bytes_ -= bytes;
}

Status DeviceMemory::lose(const Status& status) {
    is_lost_ = true;
    return status.with_context("memory of device " + options_.name);
}

// It is lost on its thread, so that no later call is made.
Status DeviceMemory::use(const std::function<Status()>& work) {
    return thread_.wait_for([&]() -> Status {
        if (is_lost()) return {StatusCode::io, fmt::format("device {} has failed", options_.name)};
        const AsStated time(*device_, options_.waits_as_stated);
        Status status = work();
        // Others may use its memory, too: that is no failure of the device.
        return status.ok() || status.code() == StatusCode::no_space ? status : lose(status);
    });
}

Status DeviceMemory::write(Block& block, std::span<const std::byte> bytes) {
    block.checksum_ = store::checksum(bytes);
    return use([&]() -> Status {
        const auto memory = device_->allocate(bytes.size());
        if (!memory.ok()) return memory.status();
        const auto there = device_->to_device(*memory, bytes);
        Status status = there.ok() ? device_->wait(*there) : there.status();
        if (status.ok()) block.there_->at = *memory;
        return status;
    });
}

Status DeviceMemory::read(const Block& block, std::span<std::byte> to) {
    Status status = use([&]() -> Status {
        const auto back = device_->to_host(to, block.there_->at);
        return back.ok() ? device_->wait(*back) : back.status();
    });
    if (!status.ok()) return status;
    if (store::checksum(to) == block.checksum_) return {};
    return lose({StatusCode::corrupt, "bytes have changed there"});
}

}  // namespace caesura::transit
