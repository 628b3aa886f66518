// Goal: without a GPU, what is missing is said; the suite of devices runs where there is one
// (checkpoint/device_suite_test.cpp).
#include <gtest/gtest.h>

#include <cstdlib>

#include "caesura/device.hpp"

namespace caesura::device {
namespace {

/// In a process of its own: CUDA looks at the variable once.
[[noreturn]] void look_where_no_gpu_is_seen() {
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    const auto device = create_cuda_device();
    const auto info = cuda_info();
    const bool said = !device.ok() && device.status().code() == StatusCode::unsupported &&
                      !info.ok() && info.status().code() == StatusCode::unsupported;
    std::fputs(device.ok() ? "a device" : device.status().message().c_str(), stderr);
    std::_Exit(said ? 7 : 1);
}

TEST(CudaDevice, without_a_gpu_what_is_missing_is_said) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(look_where_no_gpu_is_seen(), ::testing::ExitedWithCode(7),
                "no CUDA device can be used|has no CUDA");
}

TEST(CudaDevice, options_that_cannot_be_are_refused) {
    CudaOptions options;
    options.staging_bytes = 0;
    EXPECT_FALSE(create_cuda_device(options).ok());
}

}  // namespace
}  // namespace caesura::device
