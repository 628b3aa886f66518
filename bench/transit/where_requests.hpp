// Real blocks and the three devices that they go to: the host's cores, an emulated GPU, another
// service.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <random>
#include <set>

#include "transit/devices/gpu.hpp"
#include "transit/devices/remote.hpp"
#include "transit/service/dispatch.hpp"
#include "where_load.hpp"
#include "where_replay.hpp"

namespace caesura::transit::bench {

inline constexpr int k_workers = 2, k_repeats = 3;
inline constexpr unsigned k_values_seed = 20261124;

inline const std::array<Shape, 4> k_shapes = {Shape{128, 128, 128}, Shape{256, 128, 128},
                                              Shape{256, 256, 128}, Shape{256, 256, 256}};
// Of each of the two processes of a core: together twice that, at most all of the time.
inline const std::array<double, 8> k_shares = {0.0, 0.075, 0.15, 0.225, 0.3, 0.4, 0.5, 1.0};
inline const std::array<double, 6> k_busy = {0.0, 0.2, 0.4, 0.6, 0.8, 0.95};
inline const std::array<const char*, 3> k_fields = {"smooth", "waves", "noise"};
inline constexpr double k_bound = 1e-3;

inline std::vector<float> field_values(std::size_t kind, const Shape& shape) {
    std::mt19937 random(k_values_seed + static_cast<unsigned>(kind));
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<float> values(shape.count());
    const std::uint64_t plane = shape[1] * shape[2];
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float x = static_cast<float>(i % shape[2]),
                    y = static_cast<float>(i / shape[2] % shape[1]),
                    z = static_cast<float>(i / plane);
        const float wave = std::sin(0.05f * x) * std::cos(0.07f * y) + std::sin(0.03f * z);
        const float noise = kind == 0 ? 0.0f : kind == 1 ? 0.02f : 1.0f;
        values[i] = wave + noise * normal(random);
    }
    return values;
}

/// A kind of request: a field and a size.
struct Sort {
    std::size_t field, size;
    DatasetCodec recipe;
    std::unique_ptr<BlockCodec> codec;
    std::vector<float> values;
    Sort(std::size_t which, std::size_t shape) : field(which), size(shape) {
        recipe = {{"caesura:strong", {}, {}}, float32, k_shapes[shape],
                  absolute(k_bound),          {},      false};
        codec = std::move(*make_block_codec(recipe.spec, float32, recipe.chunk, recipe.bound));
        values = field_values(which, recipe.chunk);
    }
    void fill(run::Job& job) const {
        const Box box{Shape::filled(3, 0), recipe.chunk};
        job.label = k_fields[field];
        job.dtype = float32;
        job.chunk_box = box;
        job.valid = recipe.chunk;
        job.codec = codec.get();
        job.pieces = {{box, box, reinterpret_cast<const std::byte*>(values.data()), nullptr}};
    }
    double bytes() const { return static_cast<double>(values.size() * 4); }
};

/// The worst of the values that come back.
inline double error_of(const Sort& sort, std::span<const std::byte> stored) {
    std::vector<float> back(sort.values.size());
    if (!sort.codec->decode(stored, 0, std::as_writable_bytes(std::span(back))).ok()) return 1e9;
    double worst = 0.0;
    for (std::size_t i = 0; i < back.size(); ++i)
        worst = std::max(worst, std::fabs(double{back[i]} - double{sort.values[i]}));
    return worst;
}

// ------------------------------------------------------------------------------ the devices

class HostWork final : public Work {
  public:
    HostWork(const Sort& sort, base::BufferPool& pool) : pool_(pool) { sort.fill(job_); }
    void compute() override {
        begun_s = now_s();
        const double cpu_s = base::Clock::steady().thread_cpu_s();
        encoded = run::encode(job_, pool_);
        took_cpu_s = base::Clock::steady().thread_cpu_s() - cpu_s;
        ended_s = now_s();
        done_.store(true);
        event_.raise();
    }
    void give_up() override {}
    void wait() {
        while (!done_.load()) event_.wait(event_.count(), 0.0005);
    }
    Result<run::Encoded> encoded = Status(StatusCode::internal, "not encoded");
    double begun_s = 0.0, ended_s = 0.0, took_cpu_s = 0.0;

  private:
    base::BufferPool& pool_;
    run::Job job_;
    base::Event event_;
    std::atomic<bool> done_{false};
};

/// An emulated device, whose work on the host goes before all else there.
class Preferred final : public BlockDevice {
  public:
    explicit Preferred(std::unique_ptr<BlockDevice> device) : device_(std::move(device)) {}
    std::string label() const override { return device_->label(); }
    bool takes(const run::Job& job, const DatasetCodec& codec) const override {
        return device_->takes(job, codec);
    }
    bool wants_padding() const override { return device_->wants_padding(); }
    double utilisation() const override { return device_->utilisation(); }
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override {
        const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
        (void)::setpriority(PRIO_PROCESS, thread, -15);
        auto encoded = device_->encode(block, parts);
        (void)::setpriority(PRIO_PROCESS, thread, 0);
        return encoded;
    }

  private:
    std::unique_ptr<BlockDevice> device_;
};

struct Bench {
    std::string remote_address;
    base::BufferPool pool;
    Press host{{k_workers, false}};
    std::shared_ptr<StatedSpeeds> speeds = std::make_shared<StatedSpeeds>();
    std::vector<std::unique_ptr<Sort>> sorts;
    LoadProcesses& load;
    where::HostUtilisation utilisation;
    LoadSampler sampler;
    double worst_error = 0.0;
    double last_cpu_s = 0.0;  ///< of the last block on the host, its worker's own time
    double until_s = 1e30;    ///< no round begins later
    std::set<std::pair<const Sort*, std::size_t>> checked;  ///< and the hash of a result

    Bench(std::string address, LoadProcesses& processes)
        : remote_address(std::move(address)), load(processes) {
        speeds->link_bytes_per_s = 8e9;
        speeds->compress_bytes_per_s = 4e9;
        speeds->per_block_s = 1e-3;
        for (std::size_t size = 0; size < k_shapes.size(); ++size)
            for (std::size_t field = 0; field < k_fields.size(); ++field)
                sorts.push_back(std::make_unique<Sort>(field, size));
    }
    std::unique_ptr<BlockDevice> gpu() const {
        GpuDevice::Options options;
        options.coder = device::Coder::codec;
        options.kept_bytes = std::uint64_t{1} << 30;  // so that it may be quicker than the host
        return std::make_unique<Preferred>(std::move(*GpuDevice::emulated(options, speeds)));
    }
    std::unique_ptr<BlockDevice> remote() const {
        // Its connection's thread has the priority of who makes it.
        return std::make_unique<Preferred>(
            RemoteDevice::over_port({}, remote_address, PortOptions{}));
    }
};

/// Each result that differs from those before is decoded and held against the values.
inline void check(Bench& bench, const Sort& sort, std::span<const std::byte> stored) {
    const std::string_view text(reinterpret_cast<const char*>(stored.data()), stored.size());
    if (!bench.checked.emplace(&sort, std::hash<std::string_view>()(text)).second) return;
    bench.worst_error = std::max(bench.worst_error, error_of(sort, stored));
}

/// @param is_checked  else nothing is done beside what is measured.
inline where::Run measure(Bench& bench, const Sort& sort, BlockDevice* device,
                          bool is_checked = true) {
    where::Run run;
    run.bytes = sort.bytes();
    Result<run::Encoded> encoded = Status(StatusCode::internal, "");
    const double begin_s = now_s();
    if (device == nullptr) {
        HostWork work(sort, bench.pool);
        bench.host.give(1, 1.0, 1.0, work);
        work.wait();
        encoded = std::move(work.encoded);
        run.compute_s = work.ended_s - begin_s;
        bench.last_cpu_s = work.took_cpu_s;
    } else {
        run::Job job;
        sort.fill(job);
        DeviceParts parts;
        encoded = encode_on(*device, job, sort.recipe, bench.pool, parts);
        run.to_s = parts.to_s;
        run.from_s = parts.from_s;
        run.compute_s = std::max(1e-9, now_s() - begin_s - parts.to_s - parts.from_s);
    }
    if (!encoded.ok()) {
        std::fprintf(stderr, "transit_where: %s\n", encoded.status().message().c_str());
        std::exit(3);
    }
    run.result_bytes = static_cast<double>(encoded->stored.size());
    if (is_checked) check(bench, sort, encoded->stored.bytes());
    run.utilisation = device == nullptr ? bench.utilisation.share(now_s()) : device->utilisation();
    return run;
}

}  // namespace caesura::transit::bench
