// A service with devices beside the host's cores: whatever does a block, the file is the same to
// its readers; a device that dies costs nobody a block; a device that becomes slow is left.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "transit/devices/gpu.hpp"
#include "transit/devices/remote.hpp"
#include "transit/loopback.hpp"

namespace caesura {
namespace {

using namespace transit;

const Shape k_devices_shape{64, 64, 64};
constexpr unsigned k_devices_seed = 20261125;

std::vector<float> devices_values(unsigned dump) {
    return testing::make_field<float>(k_devices_shape, k_devices_seed + dump, 1);
}

std::unique_ptr<BlockDevice> gpu(device::Coder coder) {
    GpuDevice::Options options;
    options.coder = coder;
    return std::move(*GpuDevice::emulated(options, std::make_shared<StatedSpeeds>()));
}

class ServedOnDevices : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_devices_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_);
    }
    void TearDown() override { std::filesystem::remove_all(place_); }
    std::string path() const { return place_ + "/run.h5"; }

    /// A Loopback whose blocks go round all devices: the running average tries each first.
    Loopback::Options hub_with(std::function<std::vector<std::unique_ptr<BlockDevice>>()> devices) {
        Loopback::Options options;
        options.root = place_;
        options.service.make_devices = std::move(devices);
        options.service.placer.rule = where::Rule::average;
        options.service.trace = [this](const Placed& placed) {
            const std::lock_guard lock(mutex_);
            placed_.push_back(placed);
        };
        return options;
    }
    void write(Loopback& hub, unsigned dumps, const ErrorBound& bound,
               const std::function<void(unsigned)>& before = {}) {
        writer::register_transport("service",
                                   [&](std::string_view, const writer::TransportOptions& asked)
                                       -> Result<std::shared_ptr<writer::Transport>> {
                                       ClientOptions client;
                                       client.writer = asked;
                                       auto made = Client::make(hub.connect(), client);
                                       if (!made.ok()) return made.status();
                                       return std::shared_ptr<writer::Transport>(std::move(*made));
                                   });
        WriterOptions options;
        options.transport = "service:here";
        options.chunk_bytes = 64u << 10;
        options.durable = false;
        auto made = Writer::create(path(), nullptr, options);
        ASSERT_TRUE(made.ok()) << made.status().message();
        Writer& writer = **made;
        auto field = writer.define_field("f", float32, k_devices_shape, bound);
        for (unsigned n = 0; n < dumps; ++n) {
            if (before) before(n);
            const auto values = devices_values(n);
            auto iteration = writer.begin_iteration(n);
            EXPECT_TRUE(iteration.begin_dump(0.0)
                            .put(*field, {{0, 0, 0}, k_devices_shape}, values.data())
                            .ok());
            const Status ended = iteration.end();
            EXPECT_TRUE(ended.ok()) << ended.message();
            const Status finished = writer.finish_by(60.0);
            EXPECT_TRUE(finished.ok()) << finished.message();
        }
        EXPECT_TRUE(writer.close().ok());
    }
    void expect_dumps(unsigned dumps, double bound) const {
        for (unsigned n = 0; n < dumps; ++n) {
            const auto read =
                testing::read_dataset(path(), "/data/" + std::to_string(n) + "/meshes/f");
            ASSERT_EQ(testing::broken(devices_values(n), read.values, bound), "") << "dump " << n;
        }
    }
    std::map<std::size_t, int> blocks_by_device() {
        const std::lock_guard lock(mutex_);
        std::map<std::size_t, int> blocks;
        for (const Placed& one : placed_) ++blocks[one.failed ? 0 : one.decision.device];
        return blocks;
    }

    std::string place_;
    std::mutex mutex_;
    std::vector<Placed> placed_;
};

// Goal: blocks of the host, of packed frames and of the codec lie side by side in one dataset, and
// a stock reader sees values within the bound.
TEST_F(ServedOnDevices, blocks_of_all_devices_are_read_from_one_file) {
    for (const double bound : {1e-2, 0.0}) {
        placed_.clear();
        std::filesystem::remove(path());
        {
            Loopback hub(hub_with([] {
                std::vector<std::unique_ptr<BlockDevice>> devices;
                devices.push_back(gpu(device::Coder::packed));
                devices.push_back(gpu(device::Coder::codec));
                return devices;
            }));
            write(hub, 4, bound > 0.0 ? absolute(bound) : lossless());
        }
        const auto blocks = blocks_by_device();
        EXPECT_EQ(blocks.size(), 3u) << "each has done some";
        expect_dumps(4, bound);
    }
}

// Goal: a block goes to another service and back, and what was predicted of it is in the trace.
TEST_F(ServedOnDevices, another_service_compresses_blocks) {
    Loopback::Options far;
    far.root = place_;
    Loopback other(far);
    {
        Loopback hub(hub_with([&] {
            std::vector<std::unique_ptr<BlockDevice>> devices;
            devices.push_back(std::make_unique<RemoteDevice>(
                RemoteDevice::Options{},
                [&]() -> Result<std::unique_ptr<Channel>> { return other.connect(); }));
            return devices;
        }));
        write(hub, 3, absolute(1e-2));
    }
    expect_dumps(3, 1e-2);
    EXPECT_GT(blocks_by_device()[1], 0);
    for (const Placed& one : placed_) {
        EXPECT_FALSE(one.failed) << one.why;
        ASSERT_EQ(one.decision.options.size(), 2u);
        EXPECT_GT(one.run.compute_s, 0.0);
        EXPECT_GT(one.result_bytes, 0u);
        if (one.decision.device == 1) {
            EXPECT_GT(one.run.to_s, 0.0);
        }
    }
}

// Goal: a remote device that dies, whenever, costs nobody a block; it is tried again later.
TEST_F(ServedOnDevices, a_remote_device_that_dies_costs_no_block) {
    for (const std::int64_t die_after : {0, 1, 3, 7}) {
        SCOPED_TRACE(die_after);
        placed_.clear();
        std::filesystem::remove(path());
        Loopback::Options far;
        far.root = place_;
        far.service.recover = false;
        far.die_after = die_after;
        Loopback other(far);
        {
            auto options = hub_with([&] {
                std::vector<std::unique_ptr<BlockDevice>> devices;
                devices.push_back(std::make_unique<RemoteDevice>(
                    RemoteDevice::Options{},
                    [&]() -> Result<std::unique_ptr<Channel>> { return other.connect(); }));
                return devices;
            });
            options.service.host_last = true;  // blocks go there until it is dead
            Loopback hub(options);
            write(hub, 3, absolute(1e-2));
        }
        expect_dumps(3, 1e-2);
        const auto failed = std::count_if(placed_.begin(), placed_.end(),
                                          [](const Placed& one) { return one.failed; });
        EXPECT_GE(failed, 1);
    }
}

// Goal: nobody waits longer than he has patience for a device that does not answer; the other
// service gets rid of what was asked of it.
TEST_F(ServedOnDevices, a_remote_device_that_takes_too_long_costs_no_block) {
    Loopback::Options far;
    far.root = place_;
    Loopback other(far);
    {
        auto options = hub_with([&] {
            std::vector<std::unique_ptr<BlockDevice>> devices;
            RemoteDevice::Options impatient;
            impatient.patience_s = 20e-6;
            devices.push_back(std::make_unique<RemoteDevice>(
                impatient, [&]() -> Result<std::unique_ptr<Channel>> { return other.connect(); }));
            return devices;
        });
        options.service.placer.first_pause_s = options.service.placer.longest_pause_s = 1e-6;
        Loopback hub(options);
        write(hub, 6, absolute(1e-2));
    }
    expect_dumps(6, 1e-2);
    EXPECT_GE(
        std::count_if(placed_.begin(), placed_.end(), [](const Placed& one) { return one.failed; }),
        1);
}

// ------------------------------------------------------- devices of stated speeds, virtual time

/// The codec of a dataset, on a machine whose speed is stated: time goes by as it says.
class StatedCodec final : public BlockCodec {
  public:
    StatedCodec(const BlockCodec& real, base::VirtualClock& clock, double seconds)
        : real_(real), clock_(clock), seconds_(seconds) {}
    std::span<const FilterSpec> pipeline() const override { return real_.pipeline(); }
    bool reentrant() const override { return true; }
    bool wants_padding() const override { return false; }
    Result<EncodedBlock> encode(std::span<const std::byte> chunk,
                                const Shape& valid) const override {
        clock_.set(clock_.now_s() + seconds_);
        return real_.encode(chunk, valid);
    }
    Result<EncodedBlock> encode_exactly(std::span<const std::byte> chunk,
                                        const Shape& valid) const override {
        return real_.encode_exactly(chunk, valid);
    }
    Status decode(std::span<const std::byte> stored, std::uint32_t mask,
                  std::span<std::byte> chunk) const override {
        return real_.decode(stored, mask, chunk);
    }

  private:
    const BlockCodec& real_;
    base::VirtualClock& clock_;
    double seconds_;
};

class StatedDevice final : public BlockDevice {
  public:
    StatedDevice(std::string name, const BlockCodec& real, base::VirtualClock& clock,
                 std::shared_ptr<std::atomic<double>> seconds)
        : name_(std::move(name)), real_(real), clock_(clock), seconds_(std::move(seconds)) {}
    std::string label() const override { return name_; }
    bool takes(const run::Job&, const DatasetCodec&) const override { return true; }
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override {
        clock_.set(clock_.now_s() + seconds_->load());
        parts = {0.1 * seconds_->load(), 0.8 * seconds_->load(), 0.1 * seconds_->load()};
        return real_.encode(block.values, block.valid);
    }

  private:
    std::string name_;
    const BlockCodec& real_;
    base::VirtualClock& clock_;
    std::shared_ptr<std::atomic<double>> seconds_;
};

/// One request.
class StatedWork final : public Encoding {
  public:
    StatedWork(const std::vector<float>& values, const DatasetCodec& codec, const BlockCodec& made,
               base::BufferPool& pool)
        : Encoding(pool) {
        recipe = &codec;
        job.label = "f #1";
        job.dtype = float32;
        job.valid = codec.chunk;
        job.chunk_box = {Shape{0}, codec.chunk};
        job.codec = &made;
        job.pieces = {{job.chunk_box, job.chunk_box,
                       reinterpret_cast<const std::byte*>(values.data()), nullptr}};
    }
    void wait() {
        while (!done_.load()) std::this_thread::yield();
    }

  protected:
    bool is_wanted() const override { return true; }
    void ready() override { done_ = true; }

  private:
    std::atomic<bool> done_{false};
};

// Goal: the quickest is found within what may be lost, left within ten requests when it becomes
// four times slower, and none waits behind a queue when another is free.
TEST(Dispatch, leaves_a_device_that_becomes_four_times_slower_within_ten_requests) {
    base::VirtualClock clock;
    base::BufferPool pool;
    const std::vector<float> values(4096, 1.0f);
    const DatasetCodec recipe{{"caesura", {}, {}}, float32, Shape{4096}, absolute(0.1), {}, false};
    const auto real =
        std::move(*make_block_codec(recipe.spec, recipe.dtype, recipe.chunk, recipe.bound));
    const StatedCodec host_codec(*real, clock, 0.010);
    const auto fast_s = std::make_shared<std::atomic<double>>(0.004);
    const auto slow_s = std::make_shared<std::atomic<double>>(0.007);
    std::vector<std::unique_ptr<BlockDevice>> devices;
    devices.push_back(std::make_unique<StatedDevice>("fast", *real, clock, fast_s));
    devices.push_back(std::make_unique<StatedDevice>("slow", *real, clock, slow_s));
    std::vector<Placed> placed;
    Dispatch::Options options;
    options.clock = &clock;
    options.host_utilisation = [](double) { return 0.0; };
    options.trace = [&](const Placed& one) { placed.push_back(one); };
    Press host({1, false});
    Dispatch dispatch(host, options, std::move(devices));
    const auto serve = [&](int requests) {
        placed.clear();
        for (int i = 0; i < requests; ++i) {
            StatedWork work(values, recipe, host_codec, pool);
            dispatch.give(1, 1.0, 0.01, work);
            work.wait();
            ASSERT_TRUE(work.encoded.ok());
            dispatch.learn(work);
        }
    };
    const auto on = [&](std::size_t device) {
        return std::count_if(placed.begin(), placed.end(),
                             [&](const Placed& one) { return one.decision.device == device; });
    };
    serve(100);
    serve(50);
    EXPECT_GE(on(1), 49) << "the quickest, but for trials";
    EXPECT_NEAR(placed.back().decision.predicted_s(), 0.004, 0.0008);
    fast_s->store(0.016);
    serve(10);
    serve(50);
    EXPECT_GE(on(2), 48) << "the next best";
    fast_s->store(0.004);
    serve(600);
    EXPECT_EQ(placed.back().decision.device, 1u) << "it was tried again";
    host.stop();
    dispatch.stop();
}

/// A device that works only while it may.
class GatedDevice final : public BlockDevice {
  public:
    GatedDevice(const BlockCodec& real, base::VirtualClock& clock,
                std::shared_ptr<std::atomic<bool>> is_open,
                std::shared_ptr<std::atomic<bool>> is_waiting)
        : real_(real),
          clock_(clock),
          is_open_(std::move(is_open)),
          is_waiting_(std::move(is_waiting)) {}
    std::string label() const override { return "gated"; }
    bool takes(const run::Job&, const DatasetCodec&) const override { return true; }
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override {
        while (!is_open_->load()) {
            is_waiting_->store(true);
            std::this_thread::yield();
        }
        clock_.set(clock_.now_s() + 0.001);
        parts = {1e-4, 8e-4, 1e-4};
        return real_.encode(block.values, block.valid);
    }

  private:
    const BlockCodec& real_;
    base::VirtualClock& clock_;
    std::shared_ptr<std::atomic<bool>> is_open_, is_waiting_;
};

// Goal: what waits behind a block that is late is done by who is free, and nothing of it is held
// against the device that was chosen.
TEST(Dispatch, a_free_device_takes_what_waits_behind_a_block_that_is_late) {
    base::VirtualClock clock;
    base::BufferPool pool;
    const std::vector<float> values(4096, 1.0f);
    const DatasetCodec recipe{{"caesura", {}, {}}, float32, Shape{4096}, absolute(0.1), {}, false};
    const auto real =
        std::move(*make_block_codec(recipe.spec, recipe.dtype, recipe.chunk, recipe.bound));
    const StatedCodec host_codec(*real, clock, 0.050);
    const auto is_open = std::make_shared<std::atomic<bool>>(true);
    const auto is_waiting = std::make_shared<std::atomic<bool>>(false);
    std::vector<std::unique_ptr<BlockDevice>> devices;
    devices.push_back(std::make_unique<GatedDevice>(*real, clock, is_open, is_waiting));
    std::vector<Placed> placed;
    Dispatch::Options options;
    options.clock = &clock;
    options.host_utilisation = [](double) { return 0.0; };
    options.trace = [&](const Placed& one) { placed.push_back(one); };
    Press host({1, false});
    Dispatch dispatch(host, options, std::move(devices));
    const auto give = [&] {
        auto work = std::make_unique<StatedWork>(values, recipe, host_codec, pool);
        dispatch.give(1, 1.0, 0.01, *work);
        return work;
    };
    for (int i = 0; i < 40; ++i) {
        const auto work = give();
        work->wait();
        dispatch.learn(*work);
    }
    ASSERT_EQ(placed.back().device, 1u) << "the quickest";
    is_open->store(false);
    std::vector<std::unique_ptr<StatedWork>> works;
    for (int i = 0; i < 5; ++i) works.push_back(give());
    while (!is_waiting->load()) std::this_thread::yield();
    clock.set(clock.now_s() + 10.0);
    for (std::size_t i = 1; i < works.size(); ++i) works[i]->wait();
    is_open->store(true);
    works[0]->wait();
    placed.clear();
    for (const auto& work : works) dispatch.learn(*work);
    EXPECT_EQ(placed[0].device, 1u);
    EXPECT_FALSE(placed[0].moved);
    for (std::size_t i = 1; i < placed.size(); ++i) {
        EXPECT_EQ(placed[i].device, 0u) << i;
        EXPECT_TRUE(placed[i].moved) << i;
        EXPECT_EQ(works[i]->device, "cpu");
    }
}

// Goal: a service that has just started knows from samples what its devices take, and does not find
// it out with a client's block.
TEST(Dispatch, the_first_block_is_placed_by_what_samples_took) {
    for (const bool probe : {false, true}) {
        base::BufferPool pool;
        const std::vector<float> values(4096, 1.0f);
        const DatasetCodec recipe{{"caesura", {}, {}}, float32, Shape{4096},
                                  absolute(0.1),       {},      false};
        const auto real =
            std::move(*make_block_codec(recipe.spec, recipe.dtype, recipe.chunk, recipe.bound));
        auto speeds = std::make_shared<StatedSpeeds>();
        speeds->per_block_s = 0.5;  // more than the host takes for a sample, when loaded too
        std::vector<std::unique_ptr<BlockDevice>> devices;
        devices.push_back(std::move(*GpuDevice::emulated({}, speeds)));
        std::vector<Placed> placed;
        Dispatch::Options options;
        options.probe = probe;
        options.trace = [&](const Placed& one) { placed.push_back(one); };
        Press host({1, false});
        Dispatch dispatch(host, options, std::move(devices));
        while (!dispatch.is_probed()) std::this_thread::yield();
        StatedWork work(values, recipe, *real, pool);
        dispatch.give(1, 1.0, 0.01, work);
        work.wait();
        dispatch.learn(work);
        ASSERT_EQ(placed.size(), 1u);
        const auto& option = placed[0].decision.options[1];
        if (!probe) {
            EXPECT_EQ(option.expected.known, plan::Known::nothing);
            continue;
        }
        EXPECT_NE(option.expected.known, plan::Known::nothing);
        EXPECT_GE(option.expected.compute_s, 0.3) << "of a block, however small";
        EXPECT_EQ(placed[0].device, 0u);
        EXPECT_EQ(dispatch.status()[1].blocks, 0u) << "samples are no client's blocks";
    }
}

// Goal: a service may end while its samples are on their way.
TEST(Dispatch, ends_while_samples_are_compressed) {
    Press host({1, true});
    for (int i = 0; i < 3; ++i) {
        std::vector<std::unique_ptr<BlockDevice>> devices;
        devices.push_back(gpu(device::Coder::packed));
        Dispatch::Options options;
        options.probe = true;
        Dispatch dispatch(host, options, std::move(devices));
    }
}

}  // namespace
}  // namespace caesura
