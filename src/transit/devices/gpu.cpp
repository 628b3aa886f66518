#include "transit/devices/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <ctime>

#include "base/clock.hpp"
#include "device/parcel.hpp"
#include "where/utilisation.hpp"

namespace caesura::transit {

double StatedSpeeds::work_s(double idle_s) const {
    const double share = std::clamp(busy.load(), 0.0, 1.0);
    return slower.load() * (per_block_s + idle_s) * (1.0 + load * share * share * share);
}

Result<std::unique_ptr<GpuDevice>> GpuDevice::emulated(const Options& options,
                                                       std::shared_ptr<StatedSpeeds> speeds) {
    device::EmulatedMachine machine;
    machine.memory_bytes = options.memory_bytes;
    machine.link_bytes_per_s = speeds->link_bytes_per_s;
    machine.copy_bytes_per_s = speeds->link_bytes_per_s;
    machine.compress_s = [speeds](double bytes) { return speeds->compress_s(bytes); };
    machine.coder = options.coder;
    auto made = device::EmulatedDevice::create(std::move(machine));
    if (!made.ok()) return made.status();
    auto held = std::make_unique<device::EmulatedDevice>(std::move(*made));
    std::unique_ptr<GpuDevice> gpu(new GpuDevice(options, std::move(held)));
    gpu->utilisation_ = [speeds] { return speeds->busy.load(); };
    gpu->stated_ = std::move(speeds);
    if (options.kept_bytes > 0) gpu->keep_ = std::make_unique<ResultKeep>(options.kept_bytes);
    return gpu;
}

Result<std::unique_ptr<GpuDevice>> GpuDevice::cuda(const Options& options) {
    device::CudaOptions cuda;
    cuda.ordinal = options.ordinal;
    cuda.coder = options.coder;
    auto made = device::create_cuda_device(cuda);
    if (!made.ok()) return made.status();
    std::unique_ptr<GpuDevice> gpu(new GpuDevice(options, std::move(*made)));
    if (auto nvml = where::GpuUtilisation::open(options.ordinal); nvml.ok())
        gpu->utilisation_ = [held = std::shared_ptr(std::move(*nvml))] { return held->share(); };
    return gpu;
}

GpuDevice::GpuDevice(Options options, std::unique_ptr<device::Device> device)
    : options_(std::move(options)), device_(std::move(device)) {}

GpuDevice::~GpuDevice() { free_memory(); }

std::string GpuDevice::label() const {
    if (!stated_) return options_.name;
    return options_.name + (keep_ ? " (emulated, results kept)" : " (emulated)");
}

double GpuDevice::utilisation() const { return utilisation_ ? utilisation_() : 0.0; }

bool GpuDevice::takes(const run::Job& job, const DatasetCodec& codec) const {
    const bool bound = codec.bound.kind == ErrorBound::Kind::lossless ||
                       codec.bound.kind == ErrorBound::Kind::absolute;
    const std::uint64_t bytes = job.chunk_bytes();
    return is_simple(job, codec) && bound && codec.missing.empty() &&
           (codec.dtype == float32 || codec.dtype == float64) &&
           bytes + device_->parcel_bytes(1, bytes) <= options_.memory_bytes;
}

void GpuDevice::free_memory() {
    if (values_ != nullptr) (void)device_->release(std::exchange(values_, nullptr));
    if (parcel_ != nullptr) (void)device_->release(std::exchange(parcel_, nullptr));
    values_bytes_ = parcel_bytes_ = 0;
}

Status GpuDevice::reserve(std::uint64_t bytes, std::uint64_t room_bytes) {
    if (bytes <= values_bytes_ && room_bytes <= parcel_bytes_) return {};
    free_memory();
    auto values = device_->allocate(bytes);
    if (!values.ok()) return values.status();
    values_ = *values;
    values_bytes_ = bytes;
    auto parcel = device_->allocate(room_bytes);
    if (!parcel.ok()) return parcel.status();
    parcel_ = *parcel;
    parcel_bytes_ = room_bytes;
    return {};
}

Result<EncodedBlock> GpuDevice::encode(const DeviceBlock& block, DeviceParts& parts) {
    const double began_s = base::Clock::steady().now_s();
    auto encoded = keep_ ? encode_or_find(block, parts) : encode_there(block, parts);
    if (!encoded.ok()) {
        (void)device_->wait_for_work();
        free_memory();
        return encoded.status().with_context(label());
    }
    if (stated_) wait_as_stated(began_s, parts);
    return encoded;
}

// What is found takes what the device would have: both ways and its work, as stated.
Result<EncodedBlock> GpuDevice::encode_or_find(const DeviceBlock& block, DeviceParts& parts) {
    const ErrorBound bound = block.exactly ? lossless() : block.codec.bound;
    std::string settings =
        fmt::format("{} {} {}", to_string(block.codec.dtype), static_cast<int>(bound.kind),
                    std::bit_cast<std::uint64_t>(bound.value));
    for (int axis = 0; axis < block.codec.chunk.rank(); ++axis)
        settings += fmt::format(" {}", block.codec.chunk[axis]);
    const auto key = ResultKeep::key_of(block.values, std::move(settings));
    if (auto kept = keep_->find(key)) {
        const auto raw_bytes = static_cast<double>(block.values.size());
        parts = {raw_bytes / stated_->link_bytes_per_s, stated_->compress_s(raw_bytes),
                 static_cast<double>(kept->size()) / stated_->link_bytes_per_s};
        EncodedBlock encoded;
        encoded.bytes = std::move(*kept);
        return encoded;
    }
    auto encoded = encode_there(block, parts);
    if (encoded.ok()) keep_->add(key, encoded->bytes);
    return encoded;
}

Result<EncodedBlock> GpuDevice::encode_there(const DeviceBlock& block, DeviceParts& parts) {
    const std::uint64_t bytes_there = block.values.size();
    if (Status status = reserve(bytes_there, device_->parcel_bytes(1, bytes_there)); !status.ok())
        return status;
    device::Content content;
    content.dtype = block.codec.dtype;
    content.shape = block.codec.chunk;
    content.bound = block.exactly ? lossless() : block.codec.bound;
    const double begin_s = device_->now_s();
    const auto there = device_->to_device(values_, block.values);
    if (!there.ok()) return there.status();
    if (Status status = device_->wait(*there); !status.ok()) return status;
    const double arrived_s = device_->now_s();
    const std::span<const std::byte> values(values_, block.values.size());
    const auto bytes = device_->compress({&values, 1}, content, {parcel_, parcel_bytes_});
    if (!bytes.ok()) return bytes.status();
    const double done_s = device_->now_s();
    std::vector<std::byte> parcel(*bytes);
    const auto back = device_->to_host(parcel, parcel_);
    if (!back.ok()) return back.status();
    if (Status status = device_->wait(*back); !status.ok()) return status;
    parts = {arrived_s - begin_s, done_s - arrived_s, device_->now_s() - done_s};
    const auto frames = device::frames_of(parcel);
    if (!frames.ok()) return frames.status();
    if (frames->size() != 1)
        return Status{StatusCode::internal, fmt::format("{} frames of one block", frames->size())};
    EncodedBlock encoded;
    encoded.bytes.assign(frames->front().begin(), frames->front().end());
    return encoded;
}

void GpuDevice::wait_as_stated(double began_s, DeviceParts& parts) const {
    const double end_s = began_s + parts.to_s + parts.compute_s + parts.from_s;
    const double late_s = base::Clock::steady().now_s() - end_s;
    if (late_s >= 0.0) {  // the host was slower than what it stands for
        parts.compute_s += late_s;
        return;
    }
    timespec until{};
    until.tv_sec = static_cast<time_t>(end_s);
    until.tv_nsec = static_cast<long>((end_s - static_cast<double>(until.tv_sec)) * 1e9);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

}  // namespace caesura::transit
