// Goal: every device keeps the same promises. The GPU's are skipped, visibly, where there is none.
#include "checkpoint/device_suite.hpp"

#include <gtest/gtest.h>

#include "caesura/device.hpp"

namespace caesura::checkpoint {
namespace {

using device::Coder;

class Devices : public ::testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (GetParam() == "cuda") {
            auto made = device::create_cuda_device();
            if (!made.ok()) GTEST_SKIP() << "no GPU: " << made.status().message();
            device_ = *std::move(made);
            return;
        }
        const auto seconds = [](double bytes) { return 1e-5 + bytes / 1e10; };
        auto made = device::EmulatedDevice::create(
            {256 << 20,
             1e10,
             1e11,
             seconds,
             {},
             GetParam() == "emulated_packed" ? Coder::packed : Coder::codec});
        device_ = std::make_unique<device::EmulatedDevice>(*std::move(made));
    }
    std::unique_ptr<device::Device> device_;
};

TEST_P(Devices, keep_what_the_interface_promises) {
    for (const DeviceCheck& check : device_suite()) {
        SCOPED_TRACE(check.name);
        EXPECT_EQ(check.run(*device_), "");
    }
}

INSTANTIATE_TEST_SUITE_P(All, Devices, ::testing::Values("emulated", "emulated_packed", "cuda"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace caesura::checkpoint
