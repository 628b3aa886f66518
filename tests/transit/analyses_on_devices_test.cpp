// Goal: whichever device analyses a region, the result is the host's: counts and extremes the same,
// sums to rounding. A device that fails costs no result, one that has no variant is never chosen,
// and the choice follows the speeds.
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <semaphore>

#include "base/whole_file.hpp"
#include "lambda/plugins.hpp"
#include "transit/devices/gpu.hpp"
#include "transit/devices/remote.hpp"
#include "transit/object_hub.hpp"
#include "transit/objects/fragile_device.hpp"
#include "transit/service/region_analysis.hpp"

namespace caesura::transit {
namespace {

using lambda::take;

constexpr double k_rounding = 1e-12;  // of sums in another order, for objects of these sizes
constexpr unsigned k_variants_seed = 20261125;

class AnalysesOnDevices : public ObjectHub {
  protected:
    void TearDown() override {
        hub_.reset();
        other_.reset();
        ObjectHub::TearDown();
    }
    /// Whatever a device takes goes there; what has become of it is in placed_.
    void serve_with(std::function<std::unique_ptr<BlockDevice>()> make) {
        options_.service.host_last = true;
        options_.service.make_devices = [make = std::move(make)] {
            std::vector<std::unique_ptr<BlockDevice>> devices;
            devices.push_back(make());
            return devices;
        };
        options_.service.trace = [this](const Placed& placed) {
            const std::lock_guard lock(mutex_);
            placed_.push_back(placed);
        };
    }
    static std::unique_ptr<BlockDevice> emulated_gpu() {
        return take(GpuDevice::emulated({}, std::make_shared<StatedSpeeds>()));
    }
    std::unique_ptr<BlockDevice> other_service(Loopback::Options there = {}) {
        there.root = place_;
        other_ = std::make_unique<Loopback>(there);
        return std::make_unique<RemoteDevice>(
            RemoteDevice::Options{},
            [hub = other_.get()]() -> Result<std::unique_ptr<Channel>> { return hub->connect(); });
    }
    /// How many regions the device has done, of those placed since the last call.
    std::size_t done_there() {
        const std::lock_guard lock(mutex_);
        const auto count = std::count_if(placed_.begin(), placed_.end(),
                                         [](const Placed& one) { return one.device == 1; });
        placed_.clear();
        return static_cast<std::size_t>(count);
    }

    /// All calls on an object: results, and how many regions the device has done of each.
    template <class T>
    std::map<std::string, std::size_t> run_all(double wild_share, std::size_t regions) {
        std::mt19937_64 random(k_variants_seed);
        auto object = lambda::random_object<T>({40, 30, 20}, random, wild_share);
        object.cut(regions, random);
        const lambda::Registry registry;
        const auto objects = connect();
        const ObjectNumber id = create(*objects, object, "rho" + std::to_string(++objects_));
        put_all(*objects, id, object);
        std::map<std::string, std::size_t> there;
        for (const std::string& call : all_calls()) {
            if (wild_share > 0.0 && call == "spectrum") continue;
            (void)done_there();
            const auto found = objects->run(id, call).wait();
            EXPECT_TRUE(found.ok()) << call << ": " << found.status().message();
            if (!found.ok()) continue;
            expect_same(*found, take(registry.run(call, object.whole())),
                        call == "spectrum" ? 1e-9 : k_rounding, call);
            there[call] = done_there();
        }
        return there;
    }

    std::unique_ptr<Loopback> other_;
    std::mutex mutex_;
    std::vector<Placed> placed_;
    int objects_ = 0;  ///< an object of a client that has gone may still be there
};

TEST_F(AnalysesOnDevices, a_gpu_finds_what_the_host_finds_where_it_has_a_variant) {
    serve_with(emulated_gpu);
    for (const double wild : {0.0, 0.1}) {
        auto there = run_all<float>(wild, 7);
        EXPECT_EQ(run_all<double>(wild, 7), there);
        for (const char* call : {"min", "max", "mean", "variance(ddof=1)", "stats",
                                 "histogram(bins=32, low=-1, high=1)", "clusters(above=0.5)"})
            EXPECT_EQ(there[call], 7u) << call;
        EXPECT_EQ(there["histogram(bins=16)"], 14u) << "two passes";
        for (const char* call : {"entropy", "quantiles(size=262144)"})
            EXPECT_EQ(there[call], 0u) << call;
    }
    const DeviceStatus status = hub_->service().devices()[1];
    EXPECT_EQ(status.regions, 4u * (7 * 7 + 14));
    EXPECT_EQ(status.blocks, 0u);
    EXPECT_EQ(status.failures, 0u);
}

// Goal: values that lie in the memory of the device that analyses them stay there; those that lie
// in another's, or in one that has failed, come from where they are.
TEST_F(AnalysesOnDevices, values_that_lie_on_the_device_stay_there) {
    constexpr std::uint64_t k_rows = 12, k_row_values = 2500;
    constexpr std::uint64_t k_row_bytes = k_row_values * sizeof(float);
    const lambda::Registry registry;
    for (const std::string memory : {"gpu", "another"}) {
        SCOPED_TRACE(memory);
        const auto fragility = std::make_shared<Fragility>();
        serve_with(emulated_gpu);
        options_.service.sink = place_ + "/sink";
        options_.service.objects.memory_bytes = 4 * k_row_bytes;
        options_.service.make_device_memories = [&] {
            std::vector<std::unique_ptr<DeviceMemory>> memories;
            memories.push_back(fragile_memory(8 * k_row_bytes, fragility, memory));
            return memories;
        };
        std::mt19937_64 random(k_variants_seed);
        auto object = lambda::random_object<float>({k_rows, k_row_values}, random, 0.01);
        auto objects = connect();
        const ObjectNumber id = create(*objects, object);
        for (std::uint64_t row = 0; row < k_rows; ++row)
            ASSERT_TRUE(objects
                            ->put(id, {{row, 0}, {1, k_row_values}},
                                  object.values.data() + row * k_row_values)
                            .wait()
                            .ok());
        const int transfers = fragility->transfers;
        const auto run = [&](const std::string& call, std::size_t lie, std::size_t stay) {
            (void)done_there();
            expect_same(take(objects->run(id, call).wait()),
                        take(registry.run(call, object.whole())), k_rounding, call);
            const std::lock_guard lock(mutex_);
            const auto count = [&](auto is) {
                return static_cast<std::size_t>(std::count_if(placed_.begin(), placed_.end(), is));
            };
            EXPECT_EQ(count([&](const Placed& one) { return one.lay_on == memory; }), lie) << call;
            EXPECT_EQ(count([](const Placed& one) { return one.run.to_s == 0.0; }), stay) << call;
        };
        const std::size_t stay = memory == "gpu" ? 8 : 0;
        run("stats", 8, stay);
        run("histogram(bins=16)", 16, 2 * stay);
        run("clusters(above=0.5)", 8, stay);
        EXPECT_EQ(fragility->transfers, transfers + (stay > 0 ? 0 : 4 * 8));
        fragility->fails = true;
        EXPECT_EQ(off_by(*objects, id, object, whole(object.shape)), 0.0);
        run("stats", 0, 0);
        objects.reset();
        hub_.reset();
    }
}

TEST_F(AnalysesOnDevices, another_service_finds_what_the_host_finds) {
    serve_with([this] { return other_service(); });
    for (const double wild : {0.0, 0.1}) {
        auto there = run_all<float>(wild, 7);
        EXPECT_EQ(run_all<double>(wild, 7), there);
        for (const auto& [call, regions] : there)
            EXPECT_EQ(regions, call == "spectrum"             ? 0u
                               : call == "histogram(bins=16)" ? 14u
                                                              : 7u)
                << call;
    }
    EXPECT_EQ(other_->service().devices()[0].regions, hub_->service().devices()[1].regions);
}

TEST_F(AnalysesOnDevices, one_region_goes_there_too) {
    serve_with(emulated_gpu);
    std::mt19937_64 random(k_variants_seed);
    auto object = lambda::random_object<float>({50, 40}, random);
    object.cut(5, random);
    const auto objects = connect();
    const ObjectNumber id = create(*objects, object);
    put_all(*objects, id, object);
    const lambda::Registry registry;
    expect_same(take(objects->run(id, "stats", object.regions[2].box).wait()),
                take(registry.run("stats", object.region(2))), k_rounding, "stats of a region");
    EXPECT_EQ(done_there(), 1u);
    const Box box = random_box(object.shape, random);
    std::vector<float> values(box.extent.count());
    copy_box(box, whole(object.shape), reinterpret_cast<const std::byte*>(object.values.data()),
             box, reinterpret_cast<std::byte*>(values.data()), sizeof(float));
    expect_same(take(objects->run(id, "stats", box).wait()),
                take(registry.run("stats", object.view(box, values))), k_rounding, "of a box");
    EXPECT_GE(done_there(), 1u);
}

TEST_F(AnalysesOnDevices, another_service_that_dies_costs_no_result) {
    for (const std::int64_t die_after : {0, 1, 2, 5, 12}) {
        SCOPED_TRACE(die_after);
        serve_with([this, die_after] {
            Loopback::Options there;
            there.service.recover = false;
            there.die_after = die_after;
            return other_service(there);
        });
        (void)run_all<float>(0.1, 7);
        EXPECT_GE(hub_->service().devices()[1].failures, 1u);
        hub_.reset();
    }
}

TEST_F(AnalysesOnDevices, who_is_gone_or_impatient_holds_nothing_up) {
    serve_with([this] {
        (void)other_service();
        RemoteDevice::Options impatient;
        impatient.patience_s = 20e-6;
        return std::make_unique<RemoteDevice>(
            impatient,
            [hub = other_.get()]() -> Result<std::unique_ptr<Channel>> { return hub->connect(); });
    });
    options_.service.placer.first_pause_s = options_.service.placer.longest_pause_s = 1e-6;
    (void)run_all<double>(0.1, 7);
}

/// Fails at every other region, after it has looked at it.
class FailingDevice final : public BlockDevice {
  public:
    std::string label() const override { return "failing"; }
    bool takes(const run::Job&, const DatasetCodec&) const override { return false; }
    bool takes(const DeviceFunction& what, std::uint64_t) const override {
        return !what.variant.also_on.empty();
    }
    Result<EncodedBlock> encode(const DeviceBlock&, DeviceParts&) override {
        return Status(StatusCode::internal, "no block goes here");
    }
    Result<DeviceState> analyse(const DeviceFunction& what, const lambda::RegionView& region,
                                DeviceParts&) override {
        auto state = what.functions.parse_state(what.from);
        if (!state.ok()) return state.status();
        if (Status status = state->add(region); !status.ok()) return status;
        if (++calls_ % 2 == 0) return Status(StatusCode::io, "it has failed");
        return DeviceState{std::move(*state), 100};
    }

  private:
    int calls_ = 0;
};

TEST_F(AnalysesOnDevices, a_device_that_fails_at_every_other_region_costs_no_result) {
    serve_with([] { return std::make_unique<FailingDevice>(); });
    options_.service.placer.first_pause_s = options_.service.placer.longest_pause_s = 1e-9;
    auto there = run_all<float>(0.1, 8);
    EXPECT_GT(there["stats"], 0u);
    EXPECT_LT(there["stats"], 8u);
    EXPECT_GT(hub_->service().devices()[1].failures, 10u);
}

TEST_F(AnalysesOnDevices, values_under_a_key_go_to_no_other_service) {
    const std::string path = place_ + "/key";
    base::put_file(path, std::vector<std::byte>(lambda::Key::k_bytes, std::byte{7}));
    ::chmod(path.c_str(), 0600);
    options_.service.by = {take(lambda::Key::read(path))};
    for (const char* chain : {"zstd", "zstd | aead"})
        for (const bool is_far : {false, true}) {
            serve_with([&] { return is_far ? other_service() : emulated_gpu(); });
            std::mt19937_64 random(k_variants_seed);
            auto object = lambda::random_object<float>({60, 50}, random);
            object.cut(6, random);
            auto objects = connect();
            const ObjectNumber id = take(objects->create({"run",
                                                          "rho",
                                                          float32,
                                                          object.shape,
                                                          1.5,
                                                          lossless(),
                                                          false,
                                                          false,
                                                          {},
                                                          {chain, ChainSide::service}}));
            put_all(*objects, id, object);
            const lambda::Registry registry;
            expect_same(take(objects->run(id, "stats").wait()),
                        take(registry.run("stats", object.whole())), k_rounding, chain);
            EXPECT_EQ(done_there(), is_far && std::string(chain) != "zstd" ? 0u : 6u) << chain;
            objects.reset();
            hub_.reset();
        }
}

// A state that has no room at home is an error and no fault of the device; one that has none at the
// other service is found at home.
TEST_F(AnalysesOnDevices, states_that_come_back_count_against_the_limit) {
    for (const bool is_full_here : {true, false}) {
        SCOPED_TRACE(is_full_here);
        serve_with([this, is_full_here] {
            Loopback::Options there;
            if (!is_full_here) there.service.objects.states_bytes = 1000;
            return other_service(there);
        });
        options_.service.objects.states_bytes = is_full_here ? 200'000 : 200'000'000;
        std::mt19937_64 random(k_variants_seed);
        auto object = lambda::random_object<double>({40, 30, 40}, random);
        object.cut(8, random);
        auto objects = connect();
        const ObjectNumber id = create(*objects, object);
        put_all(*objects, id, object);
        const lambda::Registry registry;
        const auto found = objects->run(id, "entropy").wait();  // its state has the values
        if (is_full_here) {
            EXPECT_EQ(found.status().code(), StatusCode::no_space);
            EXPECT_NE(found.status().message().find("200000 (states_bytes)"), std::string::npos)
                << found.status().message();
            EXPECT_EQ(hub_->service().devices()[1].failures, 0u);
        } else {
            expect_same(take(Result(found)), take(registry.run("entropy", object.whole())),
                        k_rounding, "entropy");
            EXPECT_GE(hub_->service().devices()[1].failures, 1u);
        }
        // An errand's state goes on its lane, after its answer.
        while (hub_->service().objects().counts().states_bytes > 0) std::this_thread::yield();
        while (other_->service().objects().counts().states_bytes > 0) std::this_thread::yield();
        objects.reset();
        hub_.reset();
    }
}

// -------------------------------------------------------------------- the operator's functions

std::shared_ptr<lambda::Registry> with_plugin(const std::string& directory, bool is_other_version) {
    std::filesystem::create_directories(directory);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
    const std::string path = directory + "/example.so";
    std::filesystem::copy_file(CAESURA_TEST_PLUGIN, path);
    ::chmod(path.c_str(), 0644);
    // A byte behind its end is no part of what it does, and makes it another file.
    if (is_other_version) std::ofstream(path, std::ios::app | std::ios::binary) << 'x';
    auto registry = std::make_shared<lambda::Registry>();
    const auto loaded = take(lambda::load_plugins(*registry, directory));
    EXPECT_TRUE(loaded.refused.empty()) << loaded.refused[0].message();
    return registry;
}

TEST_F(AnalysesOnDevices, a_plugin_goes_only_where_it_is_the_same) {
    enum class There { none, same, other };
    for (const There there : {There::none, There::same, There::other}) {
        const std::string kind = std::to_string(static_cast<int>(there));
        options_.service.functions = with_plugin(place_ + "/here" + kind, false);
        serve_with([&] {
            Loopback::Options options;
            if (there != There::none)
                options.service.functions =
                    with_plugin(place_ + "/there" + kind, there == There::other);
            return other_service(options);
        });
        std::mt19937_64 random(k_variants_seed);
        auto object = lambda::random_object<float>({60, 50}, random);
        object.cut(6, random);
        auto objects = connect();
        const ObjectNumber id = create(*objects, object);
        put_all(*objects, id, object);
        const auto above = std::count_if(object.values.begin(), object.values.end(),
                                         [](float x) { return x > 0.25f; });
        const auto found = objects->run(id, "example.above_all(limit=0.25)").wait();
        EXPECT_EQ(lambda::number(take(Result(found)), "above"), static_cast<double>(above));
        EXPECT_EQ(done_there(), there == There::same ? 6u : 0u) << kind;
        // That it does not have this one says nothing of others, and is no failure.
        EXPECT_TRUE(objects->run(id, "stats").wait().ok());
        EXPECT_EQ(done_there(), 6u) << kind;
        EXPECT_EQ(hub_->service().devices()[1].failures, 0u) << kind;
        objects.reset();
        hub_.reset();
    }
}

/// Hears what a service answers.
class Listener final : public ChannelListener {
  public:
    void on_message(std::span<const std::byte> message,
                    std::span<const std::byte> payload) override {
        auto parsed = parse_service(message, payload.size());
        ASSERT_TRUE(parsed.ok());
        const std::lock_guard lock(mutex_);
        if (const auto* const one = std::get_if<AnalysedRegion>(&*parsed)) told_ = *one;
        changed_.notify_all();
    }
    void on_lost(const Status&, bool) override {}
    void on_dead() override {}
    AnalysedRegion wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return told_.has_value(); });
        return *std::exchange(told_, std::nullopt);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<AnalysedRegion> told_;
};

TEST_F(AnalysesOnDevices, a_service_analyses_for_others_only_what_it_has_in_their_version) {
    start();
    Listener listener;
    const auto channel = hub_->connect();
    channel->start(listener);
    channel->send(take(encode(ClientMessage(Hello{}))));
    const lambda::Registry registry;
    const std::vector<float> values(24, 1.0f);
    AnalyseRegion good;
    good.request = 1;
    good.function = "stats";
    good.version = registry.find("stats")->version;
    good.object = "rho";
    good.shape = {4, 6};
    good.box = {{0, 0}, {4, 6}};
    good.state = take(registry.start("stats")).bytes();
    good.payload_bytes = 96;
    const auto ask = [&](const AnalyseRegion& message) {
        channel->send(take(encode(ClientMessage(message))), {std::as_bytes(std::span(values))});
        return listener.wait();
    };
    EXPECT_TRUE(ask(good).status.ok());
    AnalyseRegion wrong = good;
    wrong.version = "another";
    EXPECT_EQ(ask(wrong).status.code(), StatusCode::unsupported);
    wrong = good;
    wrong.function = "min";  // with the state of another function
    EXPECT_EQ(ask(wrong).status.code(), StatusCode::corrupt);
    wrong = good;
    wrong.state.back() ^= std::byte{255};
    wrong.state.pop_back();
    EXPECT_FALSE(ask(wrong).status.ok());
    EXPECT_TRUE(ask(good).status.ok()) << "it goes on";
}

// ----------------------------------------------------------- stated speeds, in virtual time

struct Speeds {
    double host_s, device_s;
};
const std::map<std::string, Speeds> k_speeds = {
    {"quick_there", {0.010, 0.002}}, {"quick_here", {0.001, 0.008}}, {"only_here", {0.010, 0.001}}};

/// An analysis that takes its time on the host.
class StatedAnalysis final : public lambda::Analysis {
  public:
    StatedAnalysis(base::VirtualClock& clock, double seconds) : clock_(clock), seconds_(seconds) {}
    Status add(const lambda::RegionView&) override {
        clock_.set(clock_.now_s() + seconds_);
        return {};
    }
    Status merge(const lambda::Analysis&) override { return {}; }
    Result<lambda::Results> finish() const override { return lambda::Results(); }
    void save(lambda::Writer&) const override {}
    Status load(lambda::Reader&) override { return {}; }

  private:
    base::VirtualClock& clock_;
    double seconds_;
};

class StatedDevice final : public BlockDevice {
  public:
    explicit StatedDevice(base::VirtualClock& clock) : clock_(clock) {}
    std::string label() const override { return "stated"; }
    bool takes(const run::Job&, const DatasetCodec&) const override { return false; }
    bool takes(const DeviceFunction& what, std::uint64_t) const override {
        return what.variant.is_also_on(lambda::Device::gpu);
    }
    Result<EncodedBlock> encode(const DeviceBlock&, DeviceParts&) override {
        return Status(StatusCode::internal, "no block goes here");
    }
    Result<DeviceState> analyse(const DeviceFunction& what, const lambda::RegionView&,
                                DeviceParts& parts) override {
        const double seconds = k_speeds.at(what.function.name).device_s;
        clock_.set(clock_.now_s() + seconds);
        parts = {0.1 * seconds, 0.9 * seconds, 0.0};
        auto state = what.functions.parse_state(what.from);
        if (!state.ok()) return state.status();
        return DeviceState{std::move(*state), 8};
    }

  private:
    base::VirtualClock& clock_;
};

void add_stated(lambda::Registry& registry, base::VirtualClock& clock) {
    for (const auto& [name, speeds] : k_speeds) {
        lambda::Variant variant{lambda::Device::cpu, "plain", "as stated"};
        variant.make_analysis =
            [&clock, seconds = speeds.host_s](
                const lambda::Arguments&) -> Result<std::unique_ptr<lambda::Analysis>> {
            return std::unique_ptr<lambda::Analysis>(new StatedAnalysis(clock, seconds));
        };
        if (name != "only_here") variant.also_on = {lambda::Device::gpu};
        lambda::Function function{name, lambda::Kind::analysis, "Takes its time."};
        function.variants.push_back(std::move(variant));
        ASSERT_TRUE(registry.add(std::move(function)).ok());
    }
}

TEST(AnalysisChoice, follows_each_functions_speed_and_asks_no_device_without_a_variant) {
    base::VirtualClock clock;
    lambda::Registry registry;
    add_stated(registry, clock);
    std::vector<Placed> placed;
    Dispatch::Options options;
    options.clock = &clock;
    options.host_utilisation = [](double) { return 0.0; };
    options.trace = [&](const Placed& one) { placed.push_back(one); };
    std::vector<std::unique_ptr<BlockDevice>> devices;
    devices.push_back(std::make_unique<StatedDevice>(clock));
    Press host({1, false});
    Dispatch dispatch(host, options, std::move(devices));
    base::BufferPool pool;
    StateBudget budget(std::uint64_t{1} << 20);
    const auto owner = std::make_shared<int>(0);
    Lane lane;
    const ErrandHost errands{1,
                             host,
                             lane,
                             [] { return 1.0; },
                             [] { return true; },
                             [owner] { return std::static_pointer_cast<void>(owner); }};
    const auto serve = [&](const std::string& name) {
        auto sent = std::make_shared<SentRegion>();
        sent->message.function = name;
        sent->message.version = registry.find(name)->version;
        sent->message.object = "rho";
        sent->message.shape = {4096};
        sent->message.box = {{0}, {4096}};
        sent->message.state = take(registry.start(name)).bytes();
        sent->message.payload_bytes = 4096 * 4;
        sent->payload = take(pool.take(4096 * 4));
        std::memset(sent->payload.data(), 0, 4096 * 4);
        std::binary_semaphore done{0};
        lane.give([&] {
            const Status status = analyse_sent(errands, dispatch, registry, sent, budget,
                                               [&](const AnalysedThere& there) {
                                                   EXPECT_TRUE(there.state.ok());
                                                   done.release();
                                               });
            EXPECT_TRUE(status.ok()) << status.message();
        });
        done.acquire();
    };
    for (int round = 0; round < 100; ++round) {
        if (round == 50) placed.clear();
        for (const auto& [name, speeds] : k_speeds) serve(name);
    }
    std::map<std::string, int> there;
    for (const Placed& one : placed) {
        there[one.function] += one.device == 1 ? 1 : 0;
        ASSERT_EQ(one.decision.options.size(), 2u);
        EXPECT_EQ(one.variant, one.function + " float32");
        if (one.function != "only_here") continue;
        EXPECT_TRUE(std::isinf(one.decision.options[1].latency_s)) << "it has no variant";
    }
    EXPECT_GE(there["quick_there"], 48) << "but for trials";
    EXPECT_LE(there["quick_here"], 2) << "but for trials";
    EXPECT_EQ(there["only_here"], 0);
    const auto last = std::find_if(placed.rbegin(), placed.rend(), [](const Placed& one) {
        return one.function == "quick_there" && one.device == 1;
    });
    ASSERT_NE(last, placed.rend());
    EXPECT_NEAR(last->decision.predicted_s(), 0.002, 0.0004);
    EXPECT_EQ(dispatch.status()[0].blocks + dispatch.status()[1].blocks, 0u);
    EXPECT_EQ(dispatch.status()[0].regions + dispatch.status()[1].regions, 300u);
    host.stop();
    dispatch.stop();
}

}  // namespace
}  // namespace caesura::transit
