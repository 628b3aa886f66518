#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "checkpoint/device_calibration.hpp"

namespace caesura {
namespace {

using device::Device;

/// Memory of the device while it lives.
class Memory {
  public:
    Memory(Device& device, std::uint64_t bytes) : device_(device), bytes_(bytes) {
        Result<std::byte*> memory = device.allocate(bytes);
        if (memory.ok()) memory_ = *memory;
        status_ = memory.status();
    }
    ~Memory() {
        if (memory_ != nullptr) (void)device_.release(memory_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    const Status& status() const { return status_; }
    std::byte* get() const { return memory_; }
    std::span<std::byte> span() const { return {memory_, bytes_}; }

  private:
    Device& device_;
    std::uint64_t bytes_;
    std::byte* memory_ = nullptr;
    Status status_;
};

/// Random where it is not 0; stripes of a page, so that every part of it shrinks alike.
std::vector<std::byte> data_of(std::uint64_t bytes, double ratio) {
    constexpr std::uint64_t k_stripe = 4096;
    std::mt19937_64 random(1);
    std::vector<std::byte> data(bytes);
    const double share = 1.0 / ratio;
    for (std::uint64_t at = 0; at < bytes; at += k_stripe) {
        const std::uint64_t end = std::min(at + k_stripe, bytes);
        const auto full = static_cast<std::uint64_t>(share * static_cast<double>(end - at));
        for (std::uint64_t i = at; i < at + full; ++i) data[i] = static_cast<std::byte>(random());
    }
    return data;
}

/// Seconds of the median of several calls; the first, which may warm up, is not among them.
template <class Call>
Result<double> median_s(Device& device, int repeats, Call call) {
    std::vector<double> seconds;
    for (int i = 0; i <= repeats; ++i) {
        const double begin_s = device.now_s();
        if (Status status = call(); !status.ok()) return status;
        if (i > 0) seconds.push_back(device.now_s() - begin_s);
    }
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    return seconds[static_cast<std::size_t>(repeats / 2)];
}

/// One point of the curve. no_space: the device has no room for so much.
Result<double> compress_s(Device& device, std::span<const std::byte> data, int repeats) {
    const std::uint64_t room = device.parcel_bytes(1, data.size());
    const Memory raw(device, data.size()), parcel(device, room);
    if (!raw.status().ok()) return raw.status();
    if (!parcel.status().ok()) return parcel.status();
    const Result<device::Transfer> filled = device.to_device(raw.get(), data);
    if (!filled.ok()) return filled.status();
    if (Status status = device.wait(*filled); !status.ok()) return status;
    const std::vector<std::span<const std::byte>> pieces = {raw.span()};
    return median_s(device, repeats,
                    [&] { return device.compress(pieces, {}, parcel.span()).status(); });
}

Status measure_link_and_copy(Device& device, std::vector<std::byte> host, int repeats,
                             DeviceCalibration& found) {
    const Memory first(device, host.size()), second(device, host.size());
    if (!first.status().ok()) return first.status();
    if (!second.status().ok()) return second.status();
    const auto bytes = static_cast<double>(host.size());
    const Result<double> copied_s = median_s(
        device, repeats, [&] { return device.copy(second.get(), first.get(), host.size()); });
    if (!copied_s.ok()) return copied_s.status();
    const Result<double> carried_s = median_s(device, repeats, [&]() -> Status {
        const Result<device::Transfer> transfer = device.to_host(host, first.get());
        return transfer.ok() ? device.wait(*transfer) : transfer.status();
    });
    if (!carried_s.ok()) return carried_s.status();
    if (!(*copied_s > 0.0) || !(*carried_s > 0.0))
        return {StatusCode::io, fmt::format("{} bytes were copied in {} s and carried in {} s",
                                            host.size(), *copied_s, *carried_s)};
    found.copy_bytes_per_s = bytes / *copied_s;
    found.profile.link_bytes_per_s = bytes / *carried_s;
    return {};
}

}  // namespace

Result<DeviceCalibration> calibrate(Device& device, const CalibrationOptions& options) {
    if (options.least_bytes < 8 || options.most_bytes < options.least_bytes ||
        !(options.ratio >= 1.0) || !std::isfinite(options.ratio) || options.repeats < 1)
        return Status{
            StatusCode::invalid_argument,
            fmt::format("calibration from {} to {} bytes of ratio {}, {} times",
                        options.least_bytes, options.most_bytes, options.ratio, options.repeats)};
    DeviceCalibration found;
    std::vector<std::byte> data = data_of(options.most_bytes, options.ratio);
    std::uint64_t fitting = 0;
    for (std::uint64_t bytes = options.least_bytes; bytes <= options.most_bytes; bytes *= 2) {
        const Result<double> seconds =
            compress_s(device, std::span(data).first(bytes), options.repeats);
        if (!seconds.ok() && seconds.status().code() == StatusCode::no_space && fitting > 0) break;
        if (!seconds.ok())
            return seconds.status().with_context(fmt::format("compressing {} bytes", bytes));
        found.profile.compress_curve.push_back({static_cast<double>(bytes), *seconds});
        fitting = bytes;
    }
    data.resize(fitting);
    if (Status status = measure_link_and_copy(device, std::move(data), options.repeats, found);
        !status.ok())
        return status;
    return found;
}

}  // namespace caesura
