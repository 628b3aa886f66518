// For tests: memory of an emulated device that can be told to fail.
#pragma once

#include <atomic>

#include "transit/objects/device_memory.hpp"

namespace caesura::transit {

struct Fragility {
    std::atomic<bool> fails{false};      ///< every call of the link
    std::atomic<bool> changes{false};    ///< a byte of what is read
    std::atomic<int> transfers{0};       ///< in both directions, failed ones too
    std::atomic<std::uint64_t> held{0};  ///< bytes that are allocated, after the last copy to it
};

class FragileDevice final : public device::EmulatedDevice {
  public:
    FragileDevice(EmulatedDevice device, std::shared_ptr<Fragility> fragility)
        : EmulatedDevice(std::move(device)), fragility_(std::move(fragility)) {}
    Result<device::Transfer> to_host(std::span<std::byte> host, const std::byte* from) override {
        ++fragility_->transfers;
        if (fragility_->fails) return Status{StatusCode::io, "the device fell off the bus"};
        to_ = host;
        return EmulatedDevice::to_host(host, from);
    }
    Result<device::Transfer> to_device(std::byte* to, std::span<const std::byte> host) override {
        ++fragility_->transfers;
        fragility_->held = allocated_bytes();
        if (fragility_->fails) return Status{StatusCode::io, "the device fell off the bus"};
        to_ = {};
        return EmulatedDevice::to_device(to, host);
    }
    Status wait(device::Transfer transfer) override {
        const Status status = EmulatedDevice::wait(transfer);
        if (fragility_->changes && !to_.empty()) to_[to_.size() / 2] ^= std::byte{4};
        return status;
    }

  private:
    const std::shared_ptr<Fragility> fragility_;
    std::span<std::byte> to_;  ///< of the last transfer
};

inline std::unique_ptr<DeviceMemory> fragile_memory(
    std::uint64_t bytes, std::shared_ptr<Fragility> fragility = std::make_shared<Fragility>(),
    const std::string& name = "gpu0") {
    device::EmulatedMachine machine;
    machine.memory_bytes = bytes;
    machine.link_bytes_per_s = machine.copy_bytes_per_s = 8e9;
    machine.compress_s = [](double) { return 0.0; };
    auto device = device::EmulatedDevice::create(std::move(machine));
    return std::make_unique<DeviceMemory>(
        DeviceMemory::Options{name, bytes, false},
        std::make_unique<FragileDevice>(std::move(device.value()), std::move(fragility)));
}

}  // namespace caesura::transit
