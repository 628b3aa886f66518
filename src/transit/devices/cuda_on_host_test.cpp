// Goal: the service's GPU of CUDA finds what the host finds: its kernels, its memory and the states
// made of what comes back. CUDA's runtime is stood in for by the host; not a GPU.
#include "device/cuda/on_host/on_host.hpp"
#include "lambda/test_objects.hpp"
#include "transit/devices/gpu.hpp"

namespace caesura::transit {
namespace {

namespace on_host = device::on_host;
using lambda::number;
using lambda::take;

class CudaAnalyses : public ::testing::Test {
  protected:
    void SetUp() override {
        on_host::begin({.seed = 31});
        gpu_ = take(GpuDevice::cuda(options_));
    }
    void TearDown() override {
        gpu_.reset();
        EXPECT_EQ(on_host::take_faults(), std::vector<std::string>{});
        EXPECT_EQ(on_host::left(), on_host::Left{});
    }
    Result<DeviceState> analyse(std::vector<std::byte> from, const lambda::RegionView& region) {
        const auto state = registry_.parse_state(from);
        if (!state.ok()) return state.status();
        const auto bound = registry_.bind(state->call());
        if (!bound.ok()) return bound.status();
        const DeviceFunction what{registry_, *bound->function, *bound->variant, std::move(from)};
        EXPECT_TRUE(gpu_->takes(what, region.values.size()));
        DeviceParts parts;
        return gpu_->analyse(what, region, parts);
    }
    /// Region by region on the GPU, as the service does it.
    template <class T>
    Result<lambda::Results> run(const std::string& call, const lambda::TestObject<T>& object) {
        auto state = take(registry_.start(call));
        while (true) {
            const auto from = state.bytes();
            std::optional<lambda::AnalysisState> all;
            for (std::size_t i = 0; i < object.regions.size(); ++i) {
                auto one = analyse(from, object.region(i));
                if (!one.ok()) return one.status();
                if (all)
                    if (Status status = one->state.merge(*all); !status.ok()) return status;
                all = std::move(one->state);
            }
            state = std::move(*all);
            if (state.passes_left() == 0) return state.finish();
            if (Status status = state.next_pass(); !status.ok()) return status;
        }
    }
    const lambda::Registry registry_;
    GpuDevice::Options options_;
    std::unique_ptr<GpuDevice> gpu_;
};

/// Counts and extremes are the host's. The mean and the variance are to rounding: both sides add up
/// deviations of at most k_block values from one of them, in other orders, and merge blocks alike.
template <class T>
void expect_the_hosts(const lambda::Results& found, const lambda::Results& host) {
    for (const char* exact : {"count", "nan", "infinite"})
        EXPECT_EQ(number(found, exact), number(host, exact)) << exact;
    if (number(host, "count") == 0.0) return;
    for (const char* exact : {"min", "max"}) EXPECT_EQ(number(found, exact), number(host, exact));
    const double spread = std::sqrt(number(host, "variance"));
    EXPECT_NEAR(number(found, "mean"), number(host, "mean"), 1e-13 * spread + 1e-300);
    EXPECT_NEAR(number(found, "variance"), number(host, "variance"),
                1e-12 * number(host, "variance"));
}

template <class T, class Run>
void all_shapes(const lambda::Registry& registry, const Run& run) {
    std::mt19937_64 random(3101);
    for (const Shape& shape : {Shape{1}, Shape{4096}, Shape{70, 90}, Shape{30, 40, 20}})
        for (const double wild : {0.0, 0.2, 1.0}) {
            auto object = lambda::random_object<T>(shape, random, wild);
            object.cut(4, random);
            expect_the_hosts<T>(take(run("stats", object)),
                                take(registry.run("stats", object.whole())));
            for (const char* call :
                 {"histogram(bins=16)", "histogram(bins=5000, low=-1, high=1)",
                  "clusters(above=0.3)", "clusters(above=0, largest=1000, periodic=true)"})
                EXPECT_EQ(take(run(call, object)), take(registry.run(call, object.whole())))
                    << call;
        }
}

TEST_F(CudaAnalyses, are_the_hosts_of_float32) {
    all_shapes<float>(registry_,
                      [&](const auto& call, const auto& object) { return run(call, object); });
}

TEST_F(CudaAnalyses, are_the_hosts_of_float64) {
    all_shapes<double>(registry_,
                       [&](const auto& call, const auto& object) { return run(call, object); });
}

TEST_F(CudaAnalyses, a_large_mean_costs_no_digits_of_the_variance) {
    std::mt19937_64 random(3102);
    auto object = lambda::random_object<double>({100, 100}, random, 0.01);
    for (double& value : object.values) value += 1e9;
    object.cut(3, random);
    expect_the_hosts<double>(take(run("stats", object)),
                             take(registry_.run("stats", object.whole())));
}

// Values that another part of the program has put into the same GPU are copied inside it.
TEST_F(CudaAnalyses, of_values_that_lie_in_the_gpu_are_the_hosts) {
    std::mt19937_64 random(3104);
    auto object = lambda::random_object<float>({70, 90}, random, 0.1);
    object.cut(1, random);
    EXPECT_TRUE(gpu_->has_memory_of("gpu"));
    EXPECT_FALSE(gpu_->has_memory_of("another"));
    auto other = take(device::create_cuda_device({}));
    std::byte* const there = take(other->allocate(object.region(0).values.size()));
    const auto sent = other->to_device(there, object.region(0).values);
    ASSERT_TRUE(sent.ok() && other->wait(*sent).ok());
    auto region = object.region(0);
    region.values = {there, region.values.size()};
    for (const char* call : {"stats", "clusters(above=0.3)", "histogram(bins=9, low=-1, high=1)"}) {
        const auto bound = take(registry_.bind(call));
        const DeviceFunction what{registry_, *bound.function, *bound.variant,
                                  take(registry_.start(call)).bytes()};
        DeviceParts parts;
        const auto found = gpu_->analyse_copy(what, region, parts);
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(parts.to_s, 0.0);
        const auto results = take(found->state.finish());
        if (std::string(call) == "stats")
            expect_the_hosts<float>(results, take(registry_.run(call, object.whole())));
        else
            EXPECT_EQ(results, take(registry_.run(call, object.whole()))) << call;
    }
    EXPECT_TRUE(other->release(there).ok());
}

// What fails in CUDA is said, leaves nothing, and a device made anew goes on: a link that has
// failed stays so.
TEST_F(CudaAnalyses, errors_are_said_and_leave_nothing_behind) {
    std::mt19937_64 random(3103);
    auto object = lambda::random_object<float>({64, 64}, random);
    object.cut(1, random);
    const auto from = take(registry_.start("stats")).bytes();
    const auto host = take(registry_.run("stats", object.whole()));
    int failed = 0;
    for (std::uint64_t call = 1; call < 200; ++call) {
        SCOPED_TRACE(call);
        on_host::fail_call(call, cudaErrorMemoryAllocation);
        const bool ok = analyse(from, object.region(0)).ok();
        on_host::fail_call(0, cudaSuccess);
        failed += ok ? 0 : 1;
        // The one that failed may go on failing. It must not find anything else.
        if (const auto again = analyse(from, object.region(0)); again.ok())
            expect_the_hosts<float>(take(again->state.finish()), host);
        else
            EXPECT_FALSE(ok) << again.status().message();
        gpu_.reset();
        EXPECT_EQ(on_host::left(), on_host::Left{});
        gpu_ = take(GpuDevice::cuda(options_));
        auto anew = analyse(from, object.region(0));
        ASSERT_TRUE(anew.ok()) << anew.status().message();
        expect_the_hosts<float>(take(anew->state.finish()), host);
        if (ok && call > 30) break;
    }
    EXPECT_GT(failed, 3);
}

}  // namespace
}  // namespace caesura::transit
