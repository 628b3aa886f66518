#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/invalid.hpp"
#include "caesura/device.hpp"
#include "device/parcel.hpp"

namespace caesura::device {
Result<EmulatedDevice> EmulatedDevice::create(EmulatedMachine machine) {
    for (const auto& [name, speed] : {std::pair{"link_bytes_per_s", machine.link_bytes_per_s},
                                      std::pair{"copy_bytes_per_s", machine.copy_bytes_per_s}})
        if (!std::isfinite(speed) || speed <= 0.0)
            return base::invalid(fmt::format("{} is {}; it must be positive", name, speed));
    if (machine.coder != Coder::codec && machine.coder != Coder::packed)
        return Status{StatusCode::unsupported,
                      fmt::format("coder {} on an emulated device, which has codec and packed",
                                  to_string(machine.coder))};
    if (!machine.compress_s)
        return base::invalid("compress_s is empty; say what compressing takes");
    return EmulatedDevice(std::move(machine));
}

void EmulatedDevice::pass(double seconds) {
    now_s_ += seconds;
    for (Link& link : links_)
        while (!link.transfers.empty() && link.transfers.front().end_s <= now_s_) {
            const OnLink& done = link.transfers.front();
            std::memcpy(done.to, done.from, done.bytes);
            link.transfers.pop_front();
            ++link.done;
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
    EmulatedMemory piece(std::max<std::uint64_t>(bytes, 1));
    std::byte* const at = piece.data();
    allocated_bytes_ += piece.size();
    memory_.emplace(at, std::move(piece));
    return at;
}

Status EmulatedDevice::release(std::byte* memory) {
    const auto found = memory_.find(memory);
    if (found == memory_.end())
        return base::invalid("memory that was not allocated in this device");
    const std::size_t bytes = found->second.size();
    const auto is_here = [&](const std::byte* at) { return at >= memory && at < memory + bytes; };
    for (const Link& link : links_)
        for (const OnLink& transfer : link.transfers)
            if (is_here(transfer.from) || is_here(transfer.to))
                return base::invalid(
                    fmt::format("{} bytes are given back while transfer {} needs them", bytes,
                                transfer.transfer));
    allocated_bytes_ -= bytes;
    memory_.erase(found);
    return {};
}

Status EmulatedDevice::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (!is_inside(to, bytes) && !is_inside(from, bytes))
        return base::invalid(fmt::format("a copy of {} bytes out of bounds", bytes));
    std::memcpy(to, from, bytes);
    pass(static_cast<double>(bytes) / machine_.copy_bytes_per_s);
    return {};
}

Result<std::uint64_t> EmulatedDevice::compress(std::span<const std::span<const std::byte>> pieces,
                                               const Content& content,
                                               std::span<std::byte> parcel) {
    if (!is_inside(parcel.data(), parcel.size()))
        return base::invalid("a parcel outside the device");
    Result<std::uint64_t> bytes = pack(pieces, content, parcel, machine_.coder);
    std::uint64_t raw_bytes = 0;
    for (const auto& piece : pieces) raw_bytes += piece.size();
    if (bytes.ok()) pass(machine_.compress_s(static_cast<double>(raw_bytes)));
    return bytes;
}

std::uint64_t EmulatedDevice::parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const {
    return parcel_bytes_at_most(pieces, bytes, machine_.coder);
}

Status EmulatedDevice::decompress(std::span<const std::byte> parcel, std::uint64_t index,
                                  std::span<std::byte> piece) {
    if (!is_inside(parcel.data(), parcel.size()))
        return base::invalid("a parcel outside the device");
    Status status = unpack(parcel, index, piece);
    const auto& seconds = machine_.decompress_s ? machine_.decompress_s : machine_.compress_s;
    if (status.ok()) pass(seconds(static_cast<double>(piece.size())));
    return status;
}

Transfer EmulatedDevice::give(std::size_t direction, std::byte* to, const std::byte* from,
                              std::uint64_t bytes) {
    Link& link = links_[direction];
    link.free_s =
        std::max(link.free_s, now_s_) + static_cast<double>(bytes) / machine_.link_bytes_per_s;
    const Transfer transfer = 2 * ++link.given + direction;
    link.transfers.push_back({transfer, link.free_s, to, from, bytes});
    return transfer;
}

Result<Transfer> EmulatedDevice::to_host(std::span<std::byte> host, const std::byte* from) {
    if (!is_inside(from, host.size())) return base::invalid("a transfer from outside the device");
    return give(0, host.data(), from, host.size());
}

Result<Transfer> EmulatedDevice::to_device(std::byte* to, std::span<const std::byte> host) {
    if (!is_inside(to, host.size())) return base::invalid("a transfer to outside the device");
    return give(1, to, host.data(), host.size());
}

Result<EmulatedDevice::Link*> EmulatedDevice::link_of(Transfer transfer) {
    Link& link = links_[transfer % 2];
    if (transfer < 2 || transfer / 2 > link.given)
        return base::invalid(fmt::format("no transfer {}", transfer));
    return &link;
}

Result<bool> EmulatedDevice::is_done(Transfer transfer) {
    const Result<Link*> link = link_of(transfer);
    if (!link.ok()) return link.status();
    pass(0.0);
    return transfer / 2 <= (*link)->done;
}

Status EmulatedDevice::wait(Transfer transfer) {
    const Result<Link*> link = link_of(transfer);
    if (!link.ok()) return link.status();
    for (const OnLink& on_link : (*link)->transfers)
        if (on_link.transfer == transfer) now_s_ = std::max(now_s_, on_link.end_s);
    pass(0.0);
    return {};
}

}  // namespace caesura::device
