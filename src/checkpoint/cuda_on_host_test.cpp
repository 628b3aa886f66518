// Goal: the device of CUDA, its kernels, and the Checkpointer on it keep their promises. CUDA's
// runtime is stood in for by the host (device/cuda/on_host/on_host.hpp); not a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "caesura/checkpointer.hpp"
#include "caesura/device.hpp"
#include "checkpoint/device_suite.hpp"
#include "checkpoint/small_machine.hpp"
#include "device/cuda/on_host/on_host.hpp"

namespace caesura::checkpoint {
namespace {

namespace on_host = device::on_host;
using device::CudaOptions;

constexpr std::uint64_t k_cuda_on_host_seed = 17;
const std::vector<std::string> k_none;

void ok(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorName(code); }

/// An application's stream.
enum class Of { stream_0, blocking, non_blocking, second_gpu, second_gpu_stream_0 };

std::string name_of(Of of) {
    static const char* const names[] = {"stream_0", "blocking", "non_blocking", "second_gpu",
                                        "second_gpu_stream_0"};
    return names[static_cast<int>(of)];
}

class CudaStoodInForByTheHost : public ::testing::TestWithParam<Of> {
  protected:
    /// Everything from the beginning.
    void begin(std::uint64_t seed) {
        RecordProperty("seed", static_cast<int>(seed));
        device_.reset();
        on_host::begin({.seed = seed});
        options_ = {};
        stream_ = nullptr;
        if (GetParam() != Of::stream_0)
            options_.staging_bytes = 70'000;  // many pieces, one smaller
        if (GetParam() >= Of::second_gpu) options_.ordinal = 1;
        if (GetParam() != Of::stream_0 && GetParam() != Of::second_gpu_stream_0) {
            ok(cudaSetDevice(options_.ordinal));
            ok(cudaStreamCreateWithFlags(
                &stream_, GetParam() == Of::blocking ? cudaStreamDefault : cudaStreamNonBlocking));
            ok(cudaSetDevice(0));
        }
        options_.stream = stream_;
        create();
    }
    void create() {
        auto made = device::create_cuda_device(options_);
        ASSERT_TRUE(made.ok()) << made.status().message();
        device_ = *std::move(made);
    }
    /// Nothing was done wrong, and nothing is left.
    void end() {
        device_.reset();
        if (stream_ != nullptr) ok(cudaStreamDestroy(stream_));
        EXPECT_EQ(on_host::take_faults(), k_none);
        EXPECT_EQ(on_host::left(), on_host::Left{});
    }
    static int current_device() {
        int current = -1;
        ok(cudaGetDevice(&current));
        return current;
    }
    CudaOptions options_;
    cudaStream_t stream_ = nullptr;
    std::unique_ptr<device::Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Streams, CudaStoodInForByTheHost,
                         ::testing::Values(Of::stream_0, Of::blocking, Of::non_blocking,
                                           Of::second_gpu, Of::second_gpu_stream_0),
                         [](const auto& each) { return name_of(each.param); });

class DeviceStoodInForByTheHost : public CudaStoodInForByTheHost {};
INSTANTIATE_TEST_SUITE_P(Streams, DeviceStoodInForByTheHost,
                         ::testing::Values(Of::stream_0, Of::non_blocking, Of::second_gpu_stream_0),
                         [](const auto& each) { return name_of(each.param); });

TEST_P(DeviceStoodInForByTheHost, keeps_what_the_interface_promises) {
    begin(k_cuda_on_host_seed);
    for (const DeviceCheck& check : device_suite()) {
        SCOPED_TRACE(check.name);
        EXPECT_EQ(check.run(*device_), "");
        EXPECT_EQ(on_host::take_faults(), k_none);
        EXPECT_EQ(current_device(), 0);
    }
    end();
}

// ---------------------------------------------------------------------------------- Checkpointer

plan::CheckpointProfile machine_for(std::uint64_t checkpoint_bytes, std::uint64_t fitting) {
    plan::CheckpointProfile profile = small_machine();
    profile.checkpoint_bytes = checkpoint_bytes;
    profile.cache_bytes = fitting * checkpoint_bytes + 20'000;
    profile.header_bytes = 0;
    profile.link_bytes_per_s = 5e6;  // so that compressing wins, whatever the host's times
    return profile;
}

/// An application whose kernels make its state and use what is restored. Kernels are asynchronous,
/// and those that use something are not of the stream that the device knows.
class Application {
  public:
    Application(const CudaOptions& options, std::uint64_t bytes)
        : stream_(static_cast<cudaStream_t>(options.stream)), bytes_(bytes) {
        ok(cudaSetDevice(options.ordinal));
        ok(cudaMalloc(&state_, bytes));
        ok(cudaMalloc(&restored_, bytes));
        ok(cudaStreamCreateWithFlags(&user_, cudaStreamNonBlocking));
    }
    ~Application() {
        for (void* memory : {state_, restored_}) (void)cudaFree(memory);
        (void)cudaStreamDestroy(user_);
        (void)cudaSetDevice(0);
    }
    Status make(Checkpointer& checkpointer, std::uint64_t id, const std::vector<std::byte>& data) {
        ok(on_host::give(stream_, [=, this] { std::memcpy(state_, data.data(), bytes_); }));
        Status status = checkpointer.checkpoint(id, static_cast<std::byte*>(state_));
        // It is ours again.
        ok(on_host::give(user_, [=, this] { std::memset(state_, 99, bytes_); }));
        ok(cudaStreamSynchronize(user_));
        return status;
    }
    Result<std::vector<std::byte>> restore(Checkpointer& checkpointer, std::uint64_t id) {
        if (Status s = checkpointer.restore(id, static_cast<std::byte*>(restored_)); !s.ok())
            return s;
        std::vector<std::byte> back(bytes_);
        ok(on_host::give(user_, [=, this, &back] { std::memcpy(back.data(), restored_, bytes_); }));
        ok(cudaStreamSynchronize(user_));
        return back;
    }

  private:
    cudaStream_t stream_, user_ = nullptr;
    std::uint64_t bytes_;
    void* state_ = nullptr;
    void* restored_ = nullptr;
};

std::vector<std::byte> wave(std::uint64_t step, std::size_t values) {
    std::vector<float> made(values);
    for (std::size_t i = 0; i < values; ++i)
        made[i] = static_cast<float>(
            std::sin(1e-3 * static_cast<double>(i) + 0.1 * static_cast<double>(step)));
    const auto bytes = std::as_bytes(std::span(made));
    return {bytes.begin(), bytes.end()};
}

double largest_error(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    double largest = a.size() == b.size() ? 0.0 : 1e300;
    for (std::size_t at = 0; at < a.size() && at < b.size(); at += 4) {
        float x = 0, y = 0;
        std::memcpy(&x, a.data() + at, 4);
        std::memcpy(&y, b.data() + at, 4);
        largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
    }
    return largest;
}

TEST_P(CudaStoodInForByTheHost, checkpointer_brings_back_in_any_order_what_kernels_made) {
    constexpr std::size_t k_values = 12'000;
    constexpr std::uint64_t k_steps = 80;
    std::mt19937_64 random(k_cuda_on_host_seed);
    for (const double bound : {0.0, 1e-3}) {
        begin(k_cuda_on_host_seed + 1);
        CheckpointerOptions options;
        if (bound > 0.0) options.content = {float32, Shape{k_values}, absolute(bound)};
        auto made = Checkpointer::create(*device_, machine_for(4 * k_values, 12), options);
        ASSERT_TRUE(made.ok()) << made.status().message();
        {
            Application application(options_, 4 * k_values);
            std::vector<std::uint64_t> order;
            for (std::uint64_t id = 0; id < k_steps; ++id) {
                const Status status = application.make(**made, id, wave(id, k_values));
                ASSERT_TRUE(status.ok()) << status.message();
                order.insert(order.begin(), id);  // backwards
            }
            for (int i = 0; i < 20; ++i) order.push_back(random() % k_steps);
            for (const std::uint64_t id : order) {
                const auto back = application.restore(**made, id);
                ASSERT_TRUE(back.ok()) << back.status().message();
                EXPECT_LE(largest_error(*back, wave(id, k_values)), bound) << "checkpoint " << id;
            }
        }
        const CheckpointerReport report = (*made)->report();
        EXPECT_LE(report.peak_cache_bytes, machine_for(4 * k_values, 12).cache_bytes);
        EXPECT_NE(report.word.find_first_of("CX"), std::string::npos) << report.word;
        made->reset();
        EXPECT_EQ(device_->allocations(), 0u);
        end();
    }
}

// ------------------------------------------------------------------------------------ CUDA's
// errors

/// A short run, whatever fails in it. What is said to be restored is right.
void run_through_errors(const CudaOptions& options, std::uint64_t steps) {
    constexpr std::size_t k_values = 3'000;
    auto device = device::create_cuda_device(options);
    if (!device.ok()) return;
    auto made = Checkpointer::create(**device, machine_for(4 * k_values, 8));
    if (!made.ok()) return;
    void* state = nullptr;
    std::vector<std::uint64_t> ids;
    if (cudaMalloc(&state, 4 * k_values) != cudaSuccess) return;
    auto* const data = static_cast<std::byte*>(state);
    bool failed = false;
    for (std::uint64_t id = 0; id < steps; ++id) {
        const auto values = wave(id, k_values);
        if (cudaMemcpy(state, values.data(), values.size(), cudaMemcpyDefault) != cudaSuccess)
            continue;
        const bool good = (*made)->checkpoint(id, data).ok();
        EXPECT_FALSE(failed && good) << "a checkpoint was made after an error";
        failed = failed || !good;
    }
    const bool flushed = (*made)->flush().ok();
    EXPECT_FALSE(failed && flushed);
    for (const std::uint64_t id : (*made)->ids()) {
        std::vector<std::byte> back(4 * k_values);
        // After an error of a call what is at the host can be restored; but it need not be there.
        if (!(*made)->restore(id, data).ok()) continue;
        if (cudaMemcpy(back.data(), state, back.size(), cudaMemcpyDefault) != cudaSuccess) continue;
        EXPECT_EQ(back, wave(id, k_values)) << "checkpoint " << id;
    }
    made->reset();
    (void)cudaFree(state);
}

TEST_P(CudaStoodInForByTheHost, a_call_that_fails_is_told_and_leaves_nothing_behind) {
    begin(k_cuda_on_host_seed);
    const std::uint64_t before = on_host::calls();
    run_through_errors(options_, 10);
    const std::uint64_t calls = on_host::calls() - before;
    std::mt19937_64 random(k_cuda_on_host_seed);
    for (int round = 0; round < 60; ++round) {
        const std::uint64_t nth = round < 30 ? round + 1 : 1 + random() % calls;
        SCOPED_TRACE("call " + std::to_string(nth) + " of " + std::to_string(calls));
        begin(k_cuda_on_host_seed + nth);
        device_.reset();
        on_host::fail_call(nth, nth % 2 == 0 ? cudaErrorInvalidValue : cudaErrorMemoryAllocation);
        run_through_errors(options_, 10);
        on_host::fail_call(0, cudaSuccess);
        end();
        if (HasFailure()) return;
    }
}

TEST_P(CudaStoodInForByTheHost, where_the_gpu_cannot_be_made_current_no_other_does_the_work) {
    begin(k_cuda_on_host_seed);
    std::byte* const from = *device_->allocate(1000);
    std::byte* const to = *device_->allocate(1000);
    for (const std::uint64_t nth : {1, 2}) {
        on_host::fail_call_of_this_thread(nth, cudaErrorMemoryAllocation);
        EXPECT_FALSE(device_->copy(to, from, 1000).ok()) << "call " << nth;
    }
    EXPECT_TRUE(device_->copy(to, from, 1000).ok());
    for (std::byte* const memory : {from, to}) EXPECT_TRUE(device_->release(memory).ok());
    EXPECT_EQ(current_device(), 0);
    end();
}

// Goal: a coder that nobody registered is refused, its name and what to link said, nothing left.
TEST_P(CudaStoodInForByTheHost, a_coder_that_was_not_registered_is_refused) {
    begin(k_cuda_on_host_seed);
    for (const device::Coder coder : device::k_coders) {
        if (coder == device::Coder::packed) continue;
        options_.coder = coder;
        const auto made = device::create_cuda_device(options_);
        EXPECT_EQ(made.status().code(), StatusCode::unsupported);
        const std::string& said = made.status().message();
        EXPECT_NE(said.find(to_string(coder)), std::string::npos) << said;
        if (device::is_nvcomp(coder)) {
            EXPECT_NE(said.find("caesura_lab_nvcomp"), std::string::npos) << said;
        }
    }
    end();
}

TEST_P(CudaStoodInForByTheHost, an_error_in_a_stream_is_told_and_nothing_waits_for_ever) {
    begin(k_cuda_on_host_seed);
    const std::uint64_t before = on_host::operations();
    run_through_errors(options_, 10);
    const std::uint64_t operations = on_host::operations() - before;
    std::mt19937_64 random(k_cuda_on_host_seed);
    for (int round = 0; round < 30; ++round) {
        const std::uint64_t nth = 1 + random() % operations;
        SCOPED_TRACE("operation " + std::to_string(nth) + " of " + std::to_string(operations));
        begin(k_cuda_on_host_seed + nth);
        device_.reset();
        on_host::fail_operation(nth, cudaErrorIllegalAddress);
        run_through_errors(options_, 10);
        EXPECT_EQ(on_host::take_faults(), k_none);
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace caesura::checkpoint
