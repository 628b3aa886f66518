// Goal: the device of CUDA, its kernels, and the Checkpointer on it keep their promises. CUDA's
// runtime is stood in for by the host (device/cuda/on_host/on_host.hpp); not a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "caesura/checkpointer.hpp"
#include "caesura/cuda_device.hpp"
#include "checkpoint/device_suite.hpp"
#include "checkpoint/small_machine.hpp"
#include "device/cuda/on_host/on_host.hpp"

namespace caesura::checkpoint {
namespace {

namespace on_host = device::on_host;
using device::CudaOptions;

constexpr std::uint64_t k_seed = 17;
const std::vector<std::string> k_none;

void ok(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorName(code); }

/// An application's stream.
enum class Of { stream_0, blocking, non_blocking, second_device };

std::string name_of(Of of) {
    static const char* const names[] = {"stream_0", "blocking", "non_blocking", "second_device"};
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
        if (GetParam() == Of::stream_0) return create();
        options_.staging_bytes = 70'000;  // many pieces, and a smaller last one
        if (GetParam() == Of::second_device) options_.ordinal = 1;
        ok(cudaSetDevice(options_.ordinal));
        ok(cudaStreamCreateWithFlags(
            &stream_, GetParam() == Of::blocking ? cudaStreamDefault : cudaStreamNonBlocking));
        ok(cudaSetDevice(0));
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
        if (options_.stream != nullptr) ok(cudaStreamDestroy(stream_));
        EXPECT_EQ(on_host::take_faults(), k_none);
        EXPECT_EQ(on_host::left(), on_host::Left{});
        int current = -1;
        ok(cudaGetDevice(&current));
        EXPECT_EQ(current, 0);
    }
    CudaOptions options_;
    cudaStream_t stream_ = nullptr;
    std::unique_ptr<device::Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Streams, CudaStoodInForByTheHost,
                         ::testing::Values(Of::stream_0, Of::blocking, Of::non_blocking,
                                           Of::second_device),
                         [](const auto& each) { return name_of(each.param); });

TEST_P(CudaStoodInForByTheHost, device_keeps_what_the_interface_promises) {
    begin(k_seed);
    for (const DeviceCheck& check : device_suite(true)) {
        SCOPED_TRACE(check.name);
        EXPECT_EQ(check.run(*device_), "");
        EXPECT_EQ(on_host::take_faults(), k_none);
    }
    end();
}

}  // namespace
}  // namespace caesura::checkpoint
