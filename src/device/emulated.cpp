#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "caesura/device.hpp"
#include "device/parcel.hpp"

namespace caesura::device {
namespace {

Status bad(std::string what) { return {StatusCode::invalid_argument, std::move(what)}; }

}  // namespace

Result<EmulatedDevice> EmulatedDevice::create(EmulatedMachine machine) {
    for (const auto& [name, speed] : {std::pair{"link_bytes_per_s", machine.link_bytes_per_s},
                                      std::pair{"copy_bytes_per_s", machine.copy_bytes_per_s}})
        if (!std::isfinite(speed) || speed <= 0.0)
            return bad(fmt::format("{} is {}; it must be positive", name, speed));
    if (!machine.compress_s) return bad("compress_s is empty; say what compressing takes");
    return EmulatedDevice(std::move(machine));
}

void EmulatedDevice::pass(double seconds) {
    now_s_ += seconds;
    while (!on_link_.empty() && on_link_.front().end_s <= now_s_) {
        const OnLink& done = on_link_.front();
        std::memcpy(done.host.data(), done.from, done.host.size());
        done_ = done.transfer;
        on_link_.pop_front();
    }
}

bool EmulatedDevice::is_inside(const std::byte* memory, std::uint64_t bytes) const {
    return std::any_of(memory_.begin(), memory_.end(), [&](const auto& piece) {
        return memory >= piece.first && memory + bytes <= piece.first + piece.second.size();
    });
}

Result<std::byte*> EmulatedDevice::allocate(std::uint64_t bytes) {
    if (bytes > machine_.memory_bytes - allocated_bytes_)
        return Status{StatusCode::no_space,
                      fmt::format("{} bytes of the device asked for, {} of {} are taken", bytes,
                                  allocated_bytes_, machine_.memory_bytes)};
    // At least one byte, so that pieces have addresses of their own.
    std::vector<std::byte> piece(std::max<std::uint64_t>(bytes, 1));
    std::byte* const at = piece.data();
    allocated_bytes_ += piece.size();
    memory_.emplace(at, std::move(piece));
    return at;
}

Status EmulatedDevice::release(std::byte* memory) {
    const auto found = memory_.find(memory);
    if (found == memory_.end()) return bad("memory that was not allocated in this device");
    const std::size_t bytes = found->second.size();
    for (const OnLink& transfer : on_link_)
        if (transfer.from >= memory && transfer.from < memory + bytes)
            return bad(fmt::format("{} bytes are given back while transfer {} reads them", bytes,
                                   transfer.transfer));
    allocated_bytes_ -= bytes;
    memory_.erase(found);
    return {};
}

Status EmulatedDevice::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (!is_inside(to, bytes)) return bad(fmt::format("a copy of {} bytes out of bounds", bytes));
    std::memcpy(to, from, bytes);
    pass(static_cast<double>(bytes) / machine_.copy_bytes_per_s);
    return {};
}

Result<std::uint64_t> EmulatedDevice::compress(std::span<const std::span<const std::byte>> pieces,
                                               std::span<std::byte> parcel) {
    if (!is_inside(parcel.data(), parcel.size())) return bad("a parcel outside the device");
    Result<std::uint64_t> bytes = pack(pieces, parcel);
    std::uint64_t raw_bytes = 0;
    for (const auto& piece : pieces) raw_bytes += piece.size();
    if (bytes.ok()) pass(machine_.compress_s(static_cast<double>(raw_bytes)));
    return bytes;
}

std::uint64_t EmulatedDevice::parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const {
    return parcel_bytes_at_most(pieces, bytes);
}

Result<Transfer> EmulatedDevice::to_host(std::span<std::byte> host, const std::byte* from) {
    if (!is_inside(from, host.size())) return bad("a transfer from outside the device");
    link_free_s_ = std::max(link_free_s_, now_s_) +
                   static_cast<double>(host.size()) / machine_.link_bytes_per_s;
    on_link_.push_back({++given_, link_free_s_, host, from});
    return given_;
}

Result<bool> EmulatedDevice::is_done(Transfer transfer) {
    if (transfer == 0 || transfer > given_) return bad(fmt::format("no transfer {}", transfer));
    pass(0.0);
    return transfer <= done_;
}

Status EmulatedDevice::wait(Transfer transfer) {
    if (transfer == 0 || transfer > given_) return bad(fmt::format("no transfer {}", transfer));
    const auto found = std::find_if(on_link_.begin(), on_link_.end(), [&](const OnLink& on_link) {
        return on_link.transfer == transfer;
    });
    if (found == on_link_.end()) return {};
    const double end_s = found->end_s;
    // Not by adding the difference, which may round to less.
    now_s_ = std::max(now_s_, end_s);
    pass(0.0);
    return {};
}

}  // namespace caesura::device
