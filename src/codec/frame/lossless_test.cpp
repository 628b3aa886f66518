// Lossless sections: what goes in comes out, whatever it is; broken sections are errors.
#include "codec/frame/lossless.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace caesura::codec {
namespace {

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed, unsigned values = 256) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() % values);
    return bytes;
}

std::vector<std::byte> smooth_floats(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(std::sin(1e-3 * static_cast<double>(i)));
    std::vector<std::byte> bytes(n * sizeof(float));
    if (n > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

std::vector<std::byte> packed(const std::vector<std::byte>& bytes, std::size_t value_bytes) {
    LosslessPacker packer;
    Output out;
    packer.pack(bytes, value_bytes, out);
    return out.take();
}

TEST(Lossless, any_bytes_of_any_width_come_back) {
    for (const std::size_t value_bytes : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 17u, 24u, 1000u, 65536u}) {
        for (const std::size_t n : {0u, 1u, 3u, 31u, 64u, 1000u, 262143u, 262144u, 600001u}) {
            SCOPED_TRACE(testing::Message() << value_bytes << " bytes per value, " << n);
            for (const unsigned values : {1u, 3u, 256u}) {
                const auto bytes = random_bytes(n, 7, values);
                const auto section = packed(bytes, value_bytes);
                EXPECT_LE(section.size(), n + n / 16384 + value_bytes + 1);
                std::vector<std::byte> back(n);
                LosslessUnpacker unpacker;
                const Status status = unpacker.unpack(section, value_bytes, back);
                ASSERT_TRUE(status.ok()) << status.message();
                EXPECT_TRUE(back == bytes);
            }
        }
    }
}

TEST(Lossless, one_packer_serves_many_sections) {
    // Goal: buffers kept from a larger section do not leak into a smaller one.
    LosslessPacker packer;
    LosslessUnpacker unpacker;
    for (const std::size_t n : {500000u, 10u, 70000u, 0u, 262144u}) {
        const auto bytes = random_bytes(n, static_cast<unsigned>(n), 5);
        Output out;
        packer.pack(bytes, 4, out);
        const auto section = out.take();
        EXPECT_EQ(section, packed(bytes, 4));
        std::vector<std::byte> back(n);
        EXPECT_TRUE(unpacker.unpack(section, 4, back).ok());
        EXPECT_TRUE(back == bytes);
    }
}

TEST(Lossless, smooth_values_shrink_and_noise_does_not_grow) {
    const auto smooth = smooth_floats(500000);
    EXPECT_LT(packed(smooth, 4).size(), smooth.size() * 3 / 4);
    EXPECT_LT(packed(std::vector<std::byte>(1 << 20), 8).size(), 100u);
}

TEST(Lossless, the_estimate_is_near_the_size) {
    for (const std::size_t n : {10u, 3000u, 500000u}) {
        const auto bytes = smooth_floats(n);
        LosslessPacker packer;
        const auto size = static_cast<double>(packed(bytes, 4).size());
        EXPECT_NEAR(static_cast<double>(packer.estimate(bytes, 4)), size, 0.3 * size);
    }
}

/// A wave along three axes, with noise of 1e-6 along the last: what a smooth field's low bytes are.
std::vector<std::byte> smooth_doubles(std::size_t side) {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0.0, 1e-6);
    std::vector<double> row(side);
    for (double& value : row) value = noise(random);
    std::vector<double> values;
    const double step = 6.0 / static_cast<double>(side - 1);
    for (std::size_t z = 0; z < side; ++z)
        for (std::size_t y = 0; y < side; ++y)
            for (std::size_t x = 0; x < side; ++x)
                values.push_back(std::sin(step * static_cast<double>(z)) *
                                     std::cos(step * static_cast<double>(y)) +
                                 step * static_cast<double>(x) + row[x]);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

// Too much costs space for a dump; too little lets a block overflow.
TEST(Lossless, the_estimate_of_a_smooth_field_is_not_too_small) {
    for (const std::size_t side : {80u, 100u, 128u}) {
        const auto bytes = smooth_doubles(side);
        LosslessPacker packer;
        const auto size = static_cast<double>(packed(bytes, 8).size());
        const auto estimated = static_cast<double>(packer.estimate(bytes, 8));
        EXPECT_GT(estimated, 0.99 * size) << side;
        EXPECT_LT(estimated, 1.1 * size) << side;
    }
}

// Goal: repeats that reach farther than a sample's runs are seen. A sum of a function of the row
// and one of the plane was estimated at up to 1.9 times its size.
TEST(Lossless, the_estimate_of_a_large_block_sees_repeats_that_reach_far) {
    constexpr std::size_t k_side = 128;
    std::vector<double> values;
    for (std::size_t z = 0; z < k_side; ++z)
        for (std::size_t y = 0; y < k_side; ++y)
            for (std::size_t x = 0; x < k_side; ++x)
                values.push_back(std::sin(0.03 * static_cast<double>(x)) *
                                     (1 + 0.01 * static_cast<double>(y)) +
                                 static_cast<double>(z));
    const auto bytes = std::as_bytes(std::span(values)).first(std::size_t{1} << 23);
    LosslessPacker packer;
    const auto size = static_cast<double>(packed({bytes.begin(), bytes.end()}, 8).size());
    EXPECT_NEAR(static_cast<double>(packer.estimate(bytes, 8)), size, 0.2 * size);
}

TEST(Lossless, every_truncation_is_an_error) {
    for (const std::size_t value_bytes : {1u, 4u, 24u}) {
        auto bytes = random_bytes(3001, 3, 4);
        const auto section = packed(bytes, value_bytes);
        LosslessUnpacker unpacker;
        for (std::size_t length = 0; length < section.size(); ++length) {
            const std::span<const std::byte> cut(section.data(), length);
            EXPECT_EQ(unpacker.unpack(cut, value_bytes, bytes).code(), StatusCode::corrupt);
        }
        auto longer = section;
        longer.push_back(std::byte{0});
        EXPECT_EQ(unpacker.unpack(longer, value_bytes, bytes).code(), StatusCode::corrupt);
    }
}

}  // namespace
}  // namespace caesura::codec
