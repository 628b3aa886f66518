// The emulated device and the pool.
#include <gtest/gtest.h>

#include <random>

#include "device/parcel.hpp"
#include "device/pool.hpp"

namespace caesura::device {
namespace {

EmulatedDevice emulated(std::uint64_t memory_bytes = 1 << 20) {
    auto device = EmulatedDevice::create(
        {memory_bytes, 1000.0, 1e6, [](double bytes) { return 0.5 + bytes / 1e5; }, {}});
    return *std::move(device);
}

TEST(Emulated, data_arrive_when_the_model_says_and_not_before) {
    EmulatedDevice device = emulated();
    std::byte* const memory = *device.allocate(500);
    const std::vector<std::byte> sevens(500, std::byte{7});
    ASSERT_TRUE(device.copy(memory, sevens.data(), 500).ok());
    EXPECT_DOUBLE_EQ(device.now_s(), 500.0 / 1e6);
    std::vector<std::byte> first(500), second(250);
    const Transfer one = *device.to_host(first, memory), two = *device.to_host(second, memory);
    device.work(0.4);
    EXPECT_FALSE(*device.is_done(one));
    EXPECT_EQ(first[0], std::byte{0});
    ASSERT_TRUE(device.wait(one).ok());
    EXPECT_DOUBLE_EQ(device.now_s(), 500.0 / 1e6 + 0.5);
    EXPECT_EQ(first, sevens);
    EXPECT_FALSE(*device.is_done(two));  // one after the other
    ASSERT_TRUE(device.wait(two).ok());
    EXPECT_DOUBLE_EQ(device.now_s(), 500.0 / 1e6 + 0.75);
    EXPECT_EQ(second[249], std::byte{7});
}

TEST(Emulated, the_two_directions_of_the_link_do_not_wait_for_each_other) {
    EmulatedDevice device = emulated();
    std::byte* const memory = *device.allocate(500);
    std::byte* const other = *device.allocate(500);
    std::vector<std::byte> out(500, std::byte{1});
    const std::vector<std::byte> in(500, std::byte{7});
    const Transfer leaves = *device.to_host(out, memory), comes = *device.to_device(other, in);
    EXPECT_FALSE(device.release(other).ok());
    ASSERT_TRUE(device.wait(comes).ok());
    EXPECT_DOUBLE_EQ(device.now_s(), 0.5);
    EXPECT_TRUE(*device.is_done(leaves));
    EXPECT_EQ(other[499], std::byte{7});
    EXPECT_EQ(out[0], std::byte{0});
}

TEST(Emulated, compressing_really_compresses_and_takes_what_the_curve_says) {
    EmulatedDevice device = emulated();
    const std::vector<std::byte> zeros(4000);
    const std::vector<std::span<const std::byte>> pieces = {zeros, zeros};
    const std::uint64_t room = device.parcel_bytes(2, 8000);
    std::byte* const memory = *device.allocate(room);
    const auto bytes = device.compress(pieces, {}, {memory, room});
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    EXPECT_LT(*bytes, 400u);
    EXPECT_DOUBLE_EQ(device.now_s(), 0.5 + 8000 / 1e5);
    std::vector<std::byte> piece(4000, std::byte{1});
    ASSERT_TRUE(unpack({memory, *bytes}, 1, piece).ok());
    EXPECT_EQ(piece, zeros);
}

TEST(Emulated, mistakes_in_its_use_are_errors) {
    EmulatedDevice device = emulated(1000);
    EXPECT_EQ(device.allocate(1001).status().code(), StatusCode::no_space);
    std::byte* const memory = *device.allocate(1000);
    std::vector<std::byte> host(1000);
    EXPECT_FALSE(device.to_host(host, memory + 1).ok());
    const Transfer transfer = *device.to_host(host, memory);
    EXPECT_FALSE(device.release(memory).ok());  // the link reads it
    ASSERT_TRUE(device.wait(transfer).ok());
    EXPECT_TRUE(device.release(memory).ok());
    EXPECT_FALSE(device.release(memory).ok());
    EXPECT_FALSE(device.wait(transfer + 2).ok());
    EXPECT_FALSE(device.to_device(host.data(), host).ok());
    EXPECT_FALSE(device.copy(host.data(), host.data(), 1).ok());
    EXPECT_FALSE(EmulatedDevice::create({1, 0.0, 1.0, [](double) { return 0.0; }, {}}).ok());
    EXPECT_EQ(device.allocated_bytes(), 0u);
}

TEST(Pool, never_has_more_than_its_cap_and_gives_everything_back) {
    constexpr unsigned k_device_seed = 9;
    std::mt19937_64 random(k_device_seed);
    EmulatedDevice device = emulated();
    {
        Pool pool(device, 10'000);
        std::vector<std::pair<std::byte*, std::uint64_t>> taken;
        std::uint64_t sum = 0, refused = 0;
        for (int round = 0; round < 5000; ++round) {
            if (random() % 2 == 0 && !taken.empty()) {
                std::swap(taken[random() % taken.size()], taken.back());
                ASSERT_TRUE(pool.give_back(taken.back().first).ok());
                sum -= taken.back().second;
                taken.pop_back();
            } else {
                const std::uint64_t bytes = 1 + random() % 4000;
                const auto memory = pool.take(bytes);
                ASSERT_EQ(memory.ok(), sum + bytes <= 10'000) << "seed " << k_device_seed;
                if (memory.ok()) taken.emplace_back(*memory, bytes), sum += bytes;
                refused += !memory.ok();
            }
            ASSERT_EQ(pool.used_bytes(), sum);
            ASSERT_EQ(device.allocated_bytes(), sum);
        }
        EXPECT_GT(refused, 100u);
        EXPECT_LE(pool.peak_bytes(), 10'000u);
        std::byte other{};
        EXPECT_FALSE(pool.give_back(&other).ok());
    }
    EXPECT_EQ(device.allocations(), 0u);
}

}  // namespace
}  // namespace caesura::device
