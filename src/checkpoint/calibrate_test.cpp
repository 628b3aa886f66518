#include <gtest/gtest.h>

#include "checkpoint/device_calibration.hpp"

namespace caesura {
namespace {

/// Goal: what is measured is what the machine is.
TEST(DeviceCalibration, an_emulated_machine_is_found_again_within_a_percent) {
    for (const auto& [launch_s, rate] : {std::pair{32e-6, 5.5e9}, {1e-3, 1e8}, {0.0, 4e10}}) {
        const auto model = [launch = launch_s, speed = rate](double bytes) {
            return launch + bytes / speed;
        };
        auto device = *device::EmulatedDevice::create(
            {16 << 20, 2.5e8, 5e9, model, {}, device::Coder::packed});
        const auto found = calibrate(device, {10'000, 4'000'000, 8.0, 3});
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_NEAR(found->profile.link_bytes_per_s, 2.5e8, 2.5e6);
        EXPECT_NEAR(found->copy_bytes_per_s, 5e9, 5e7);
        ASSERT_EQ(found->profile.compress_curve.size(), 9u);
        for (const double bytes : {10'000.0, 15'000.0, 700'000.0, 2'000'000.0})
            EXPECT_NEAR(plan::compress_s(found->profile.compress_curve, bytes), model(bytes),
                        0.01 * model(bytes))
                << bytes;
        EXPECT_EQ(device.allocations(), 0u);
        // It is what a plan wants: with a run's own numbers it can be kept and planned with.
        plan::CheckpointProfile profile = found->profile;
        profile.checkpoint_bytes = 100'000;
        profile.cache_bytes = 1'000'000;
        EXPECT_TRUE(plan::parse_checkpoint_profile(plan::to_json(profile)).ok());
    }
}

TEST(DeviceCalibration, a_small_device_is_measured_as_far_as_it_goes) {
    const auto model = [](double bytes) { return 1e-5 + bytes / 1e9; };
    const auto device_of = [&](std::uint64_t memory_bytes) {
        return *device::EmulatedDevice::create(
            {memory_bytes, 1e8, 1e9, model, {}, device::Coder::packed});
    };
    auto small = device_of(300'000);
    const auto found = calibrate(small, {10'000, 4'000'000, 8.0, 1});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->profile.compress_curve.back().bytes, 80'000.0);
    auto tiny = device_of(1'000);
    EXPECT_EQ(calibrate(tiny, {10'000, 20'000, 8.0, 1}).status().code(), StatusCode::no_space);
    EXPECT_EQ(calibrate(small, {10, 5, 8.0, 1}).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(small.allocations(), 0u);
}

}  // namespace
}  // namespace caesura
