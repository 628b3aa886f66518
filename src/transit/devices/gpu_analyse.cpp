// Analyses on a GPU: the values go there, sums, counts or marks come back, and become a state here.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "transit/devices/gpu.hpp"

namespace caesura::transit {

bool GpuDevice::takes(const DeviceFunction& what, std::uint64_t bytes) const {
    return what.variant.is_also_on(lambda::Device::gpu) && bytes > 0 &&
           bytes + std::max(device::sums_bytes(bytes, float32),
                            device::marks_bytes(bytes, float32)) <=
               options_.memory_bytes;
}

namespace {

/// What the device needs beside the values.
std::uint64_t room_of(const lambda::Reduction& wanted, std::uint64_t bytes, DType dtype) {
    using Kind = lambda::Reduction::Kind;
    if (wanted.kind == Kind::counts) return device::counts_bytes(wanted.edges.size() - 1);
    if (wanted.kind == Kind::marks) return device::marks_bytes(bytes, dtype);
    return device::sums_bytes(bytes, dtype);
}

}  // namespace

Result<DeviceState> GpuDevice::analyse(const DeviceFunction& what, const lambda::RegionView& region,
                                       DeviceParts& parts) {
    return analyse_any(what, region, Lie::on_host, parts);
}

Result<DeviceState> GpuDevice::analyse_copy(const DeviceFunction& what,
                                            const lambda::RegionView& region, DeviceParts& parts) {
    return analyse_any(what, region, Lie::there, parts);
}

Result<DeviceState> GpuDevice::analyse_any(const DeviceFunction& what,
                                           const lambda::RegionView& region, Lie lie,
                                           DeviceParts& parts) {
    if (stated_) return analyse_as_stated(what, region, lie, parts);
    auto found = analyse_there(what, region, lie, parts);
    if (found.ok()) return found;
    (void)device_->wait_for_work();
    free_memory();
    return found.status().with_context(label());
}

// An emulated one: the host's own code, and the time stated.
Result<DeviceState> GpuDevice::analyse_as_stated(const DeviceFunction& what,
                                                 const lambda::RegionView& region, Lie lie,
                                                 DeviceParts& parts) {
    const double began_s = base::Clock::steady().now_s();
    auto state = add_or_find(what, region);
    if (!state.ok()) return state.status();
    const std::uint64_t bytes = state->bytes().size();
    const auto raw_bytes = static_cast<double>(region.values.size());
    parts = {lie == Lie::there ? 0.0 : raw_bytes / stated_->link_bytes_per_s,
             stated_->analyse_s(raw_bytes), static_cast<double>(bytes) / stated_->link_bytes_per_s};
    wait_as_stated(began_s, parts);
    return DeviceState{std::move(*state), bytes};
}

Result<lambda::AnalysisState> GpuDevice::add_or_find(const DeviceFunction& what,
                                                     const lambda::RegionView& region) {
    std::optional<ResultKeep::Key> key;
    if (keep_) {
        std::string settings =
            fmt::format("{} {} ", to_string(region.dtype), to_string(region.shape));
        settings.append(reinterpret_cast<const char*>(what.from.data()), what.from.size());
        key = ResultKeep::key_of(region.values, std::move(settings));
        if (const auto kept = keep_->find(*key)) return what.functions.parse_state(*kept);
    }
    auto state = what.functions.parse_state(what.from);
    if (!state.ok()) return state.status();
    if (Status status = state->add(region); !status.ok()) return status;
    if (key) keep_->add(*key, state->bytes());
    return state;
}

Result<DeviceState> GpuDevice::analyse_there(const DeviceFunction& what,
                                             const lambda::RegionView& region, Lie lie,
                                             DeviceParts& parts) {
    auto state = what.functions.parse_state(what.from);
    if (!state.ok()) return state.status();
    const lambda::Reduction wanted = state->reduction();
    const std::uint64_t bytes = region.values.size();
    const std::uint64_t room_bytes = room_of(wanted, bytes, region.dtype);
    if (wanted.kind == lambda::Reduction::Kind::values || bytes == 0 ||
        bytes + room_bytes > options_.memory_bytes)
        return Status{StatusCode::unsupported, fmt::format("{} of {} bytes", state->call(), bytes)};
    if (Status status = reserve(bytes, room_bytes); !status.ok()) return status;
    const double begin_s = device_->now_s();
    if (Status status = bring(region, lie); !status.ok()) return status;
    const double arrived_s = device_->now_s();
    const auto reduced = reduce(wanted, region.dtype, {values_, bytes});
    if (!reduced.ok()) return reduced.status();
    if (Status status = state->add_reduced(region, *reduced); !status.ok()) return status;
    // What comes back is little, and a part of the work.
    parts = {lie == Lie::there ? 0.0 : arrived_s - begin_s, device_->now_s() - arrived_s, 0.0};
    return DeviceState{std::move(*state), room_bytes};
}

// To where this device works. Values in it are copied inside: another one's memory of the same
// GPU is the application's to it.
Status GpuDevice::bring(const lambda::RegionView& region, Lie lie) {
    if (lie == Lie::there)
        return device_->copy(values_, region.values.data(), region.values.size());
    const auto there = device_->to_device(values_, region.values);
    return there.ok() ? device_->wait(*there) : there.status();
}

Result<lambda::Reduced> GpuDevice::reduce(const lambda::Reduction& wanted, DType dtype,
                                          std::span<const std::byte> values) {
    const std::span<std::byte> room(parcel_, parcel_bytes_);
    lambda::Reduced reduced;
    if (wanted.kind == lambda::Reduction::Kind::moments) {
        const auto stretches = device_->sums(values, dtype, room);
        if (!stretches.ok()) return stretches.status();
        for (const device::StretchSums& one : *stretches)
            reduced.moments.add(
                lambda::BlockSums{one.finite, one.nan, one.low, one.high, one.sum, one.squares},
                one.values, one.origin);
        return reduced;
    }
    if (wanted.kind == lambda::Reduction::Kind::marks) {
        auto marks = device_->marks(values, dtype, wanted.threshold, room);
        if (!marks.ok()) return marks.status();
        reduced.marks = std::move(*marks);
        return reduced;
    }
    auto counts = device_->counts(values, dtype, wanted.edges, room);
    if (!counts.ok()) return counts.status();
    reduced.counts = std::move(counts->bins);
    reduced.below = counts->below;
    reduced.above = counts->above;
    reduced.nan = counts->nan;
    reduced.infinite = counts->infinite;
    return reduced;
}

}  // namespace caesura::transit
