// Predicted sizes beside real ones: small pieces of real fields, every number of axes, values that
// are stored exactly; and the same prediction on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>

#include "caesura/codec.hpp"
#include "codec/test_arrays.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

const char* const k_fields[] = {"nyx_z2.5_baryon_density",
                                "nyx_z2.5_dark_matter_density",
                                "nyx_z2.5_temperature",
                                "nyx_z50_velocity_x",
                                "lwfa_Ey",
                                "lwfa_rho"};
const Mode k_estimated_modes[] = {Mode::fast, Mode::strong, Mode::planes};

std::vector<float> read_field(const std::string& name) {
    std::ifstream in(std::string(CAESURA_DATA_DIR) + "/" + name + ".f32", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

/// predicted / real - 1; no value where the frame is so small that nothing is promised.
template <class T>
double error_of(const std::vector<T>& values, const Shape& shape, const ErrorBound& bound,
                const CompressOptions& options) {
    const auto bytes = std::as_bytes(std::span(values));
    const auto frame = compress(bytes, dtype_of<T>(), shape, bound, options);
    const auto estimated = estimate(bytes, dtype_of<T>(), shape, bound, options);
    EXPECT_TRUE(frame.ok() && estimated.ok());
    if (!frame.ok() || !estimated.ok()) return 0;
    if (frame->size() * 60 < bytes.size()) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(estimated->bytes) / static_cast<double>(frame->size()) - 1;
}

TEST(Estimate, is_close_on_pieces_of_real_fields) {
    const Shape shape{32, 32, 32};
    std::vector<double> errors;
    for (const char* name : k_fields) {
        const auto values = read_field(name);
        ASSERT_EQ(values.size(), shape.count()) << name;
        for (const double share : {1e-2, 1e-3, 1e-4}) {
            for (const Mode mode : k_estimated_modes) {
                CompressOptions options;
                options.mode = mode;
                const double error = error_of(values, shape, relative(share), options);
                if (std::isnan(error)) continue;
                EXPECT_LT(std::abs(error), 0.15)
                    << name << " " << share << " mode " << static_cast<int>(mode);
                errors.push_back(std::abs(error));
            }
        }
    }
    ASSERT_GT(errors.size(), 30u);
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.012);
    EXPECT_LT(errors[errors.size() * 9 / 10], 0.08);
}

/// Waves, and between them noise that is a hundred times as strong in some places as in others.
std::vector<float> gusts(const Shape& shape, unsigned seed) {
    auto values = smooth_array<float>(shape, seed);
    std::mt19937 random(seed + 1);
    const auto place = [&](std::size_t i, int axis) {
        return static_cast<double>(i % shape[axis]) / static_cast<double>(shape[axis]);
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = place(i, 2);
        const double y = place(i / shape[2], 1);
        const double z = place(i / shape[2] / shape[1], 0);
        const double strength = std::exp2(3.3 * std::sin(5 * x + 2 * z) * std::cos(7 * y - x) -
                                          3.3 * std::cos(4 * z + y));
        const double noise = static_cast<double>(random()) / 4294967296.0 - 0.5;
        values[i] += static_cast<float>(4e-3 * strength * noise);
    }
    return values;
}

TEST(Estimate, of_blocks_of_8_MiB_is_within_3_percent_and_mostly_within_1) {
    const Shape shape{128, 128, 128};
    std::vector<double> errors;
    for (const unsigned seed : {51U, 52U}) {
        const auto values = gusts(shape, seed);
        for (const double bound : {2e-2, 2e-3, 2e-4, 2e-5}) {
            for (const Mode mode : {Mode::fast, Mode::automatic}) {
                CompressOptions options;
                options.mode = mode;
                const double error = error_of(values, shape, absolute(bound), options);
                if (std::isnan(error)) continue;
                EXPECT_LT(std::abs(error), 0.03)
                    << "seed " << seed << " bound " << bound << " mode " << static_cast<int>(mode);
                errors.push_back(std::abs(error));
            }
        }
    }
    ASSERT_GT(errors.size(), 8u);
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.01);
}

TEST(Estimate, is_close_for_every_number_of_axes_and_for_several_slabs) {
    const Shape shapes[] = {Shape{100000}, Shape{300, 400}, Shape{60, 1, 70, 50},
                            Shape{9, 20, 30, 40}, Shape{40, 300, 400}};
    for (const Shape& shape : shapes) {
        const auto values = smooth_array<double>(shape, 31);
        for (const Mode mode : k_estimated_modes) {
            CompressOptions options;
            options.mode = mode;
            const double error = error_of(values, shape, absolute(1e-4), options);
            if (std::isnan(error)) continue;
            // So smooth that interpolation's bytes are at the edges, which a piece has more of.
            const double most = mode == Mode::strong ? 0.25 : 0.05;
            EXPECT_LT(std::abs(error), most)
                << to_string(shape) << " mode " << static_cast<int>(mode);
        }
    }
}

TEST(Estimate, counts_values_that_are_stored_exactly) {
    const Shape shape{64, 64, 64};
    auto values = smooth_array<float>(shape, 33);
    std::mt19937 random(34);
    // Fewer than would be taken out as gaps.
    for (int i = 0; i < 700; ++i) {
        values[random() % values.size()] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                                      : std::numeric_limits<float>::denorm_min();
    }
    for (const Mode mode : {Mode::fast, Mode::strong}) {
        CompressOptions options;
        options.mode = mode;
        EXPECT_LT(std::abs(error_of(values, shape, absolute(1e-3), options)), 0.15)
            << static_cast<int>(mode);
    }
}

TEST(Estimate, of_a_part_is_that_of_its_copy) {
    struct PartOfArray {
        Shape array;
        Box part;
    };
    const PartOfArray cases[] = {{{60, 70, 80}, {{3, 5, 7}, {40, 50, 60}}},
                                 {{60, 70, 80}, {{0, 0, 16}, {60, 70, 64}}},
                                 {{20, 1, 90, 80}, {{2, 0, 9, 1}, {17, 1, 70, 79}}},
                                 {{9, 30, 40, 50}, {{1, 3, 0, 10}, {7, 20, 40, 33}}},
                                 {{300, 400}, {{10, 20}, {280, 370}}},
                                 {{62, 310, 260}, {{1, 2, 3}, {60, 300, 250}}}};
    for (const PartOfArray& one : cases) {
        const auto array = smooth_array<float>(one.array, 39);
        const Box array_box{Shape::filled(one.array.rank(), 0), one.array};
        const auto* bytes = reinterpret_cast<const std::byte*>(array.data());
        std::vector<float> copy(one.part.extent.count());
        copy_box(one.part, array_box, bytes, one.part, reinterpret_cast<std::byte*>(copy.data()),
                 sizeof(float));
        for (const Mode mode : k_estimated_modes) {
            CompressOptions options;
            options.mode = mode;
            const auto in_place =
                estimate_part(bytes, float32, array_box, one.part, absolute(1e-4), options);
            const auto of_copy = estimate(std::as_bytes(std::span(copy)), float32, one.part.extent,
                                          absolute(1e-4), options);
            ASSERT_TRUE(in_place.ok() && of_copy.ok());
            EXPECT_EQ(in_place->bytes, of_copy->bytes)
                << to_string(one.part) << " mode " << static_cast<int>(mode);
            EXPECT_EQ(in_place->mode, of_copy->mode);
        }
    }
}

TEST(Estimate, of_a_part_that_cannot_be_told_in_place_is_that_of_its_middle) {
    const Box array_box{{5, 6, 7}, {70, 80, 90}};
    const Box part{{9, 10, 11}, {60, 70, 80}};
    auto array = smooth_array<double>(array_box.extent, 40);
    for (std::size_t i = 0; i < array.size(); i += 3) {
        array[i] = std::numeric_limits<double>::quiet_NaN();
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(array.data());
    std::vector<double> copy(part.extent.count());
    copy_box(part, array_box, bytes, part, reinterpret_cast<std::byte*>(copy.data()),
             sizeof(double));
    for (const ErrorBound& bound : {absolute(1e-4), relative(1e-3), lossless()}) {
        const auto found = estimate_part(bytes, DType::float64, array_box, part, bound);
        const auto frame =
            compress(std::as_bytes(std::span(copy)), DType::float64, part.extent, bound);
        ASSERT_TRUE(found.ok() && frame.ok());
        const auto real = static_cast<double>(frame->size());
        EXPECT_NEAR(static_cast<double>(found->bytes), real, 0.2 * real) << bound.value;
    }
}

/// Silence, but for balls of noise that fill about 1 % of the block.
std::vector<float> bursts(const Shape& shape, int balls, std::uint32_t seed) {
    constexpr double k_share = 0.01;
    const double radius =
        std::cbrt(k_share * static_cast<double>(shape.count()) / balls / (4 * 3.14159265 / 3));
    std::vector<float> values(shape.count(), 1.0F);
    std::mt19937 random(seed);
    const auto below = [&](double end) { return end * random() / 4294967296.0; };
    for (int ball = 0; ball < balls; ++ball) {
        std::array<double, 3> centre{};
        for (int a = 0; a < 3; ++a) {
            centre[static_cast<std::size_t>(a)] =
                radius + below(static_cast<double>(shape[a]) - 2 * radius);
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double z = static_cast<double>(i / (shape[1] * shape[2])) - centre[0];
            const double y = static_cast<double>(i / shape[2] % shape[1]) - centre[1];
            const double x = static_cast<double>(i % shape[2]) - centre[2];
            if (z * z + y * y + x * x < radius * radius) {
                values[i] = static_cast<float>(below(2.0));
            }
        }
    }
    return values;
}

// What bursts take is known from the few dozen spots that lie in them: a fifth off at times.
TEST(Estimate, is_close_where_a_hundredth_of_the_block_is_busy) {
    const Shape shape{64, 64, 128};
    for (const int balls : {1, 4, 16}) {
        for (const std::uint32_t seed : {36U, 37U, 38U}) {
            const auto values = bursts(shape, balls, seed);
            const auto bytes = std::as_bytes(std::span(values));
            for (const Mode mode : {Mode::fast, Mode::automatic}) {
                CompressOptions options;
                options.mode = mode;
                const auto frame = compress(bytes, float32, shape, absolute(1e-4), options);
                const auto estimated = estimate(bytes, float32, shape, absolute(1e-4), options);
                ASSERT_TRUE(frame.ok() && estimated.ok());
                const double error =
                    static_cast<double>(estimated->bytes) / static_cast<double>(frame->size()) - 1;
                EXPECT_LT(std::abs(error), 0.2)
                    << balls << " balls, seed " << seed << " mode " << static_cast<int>(mode);
            }
        }
    }
}

TEST(Estimate, is_right_for_arrays_smaller_than_its_samples) {
    for (const Shape& shape : {Shape{1}, Shape{2}, Shape{17}, Shape{3, 5}, Shape{2, 3, 4},
                               Shape{1, 1, 9}, Shape{2, 1, 2, 3}, Shape{300}}) {
        const auto values = smooth_array<float>(shape, 35);
        const auto bytes = std::as_bytes(std::span(values));
        for (const Mode mode : k_estimated_modes) {
            CompressOptions options;
            options.mode = mode;
            const auto frame = compress(bytes, float32, shape, absolute(1e-3), options);
            const auto estimated = estimate(bytes, float32, shape, absolute(1e-3), options);
            ASSERT_TRUE(frame.ok() && estimated.ok());
            EXPECT_NEAR(static_cast<double>(estimated->bytes), static_cast<double>(frame->size()),
                        200)
                << to_string(shape) << " mode " << static_cast<int>(mode);
        }
    }
}

TEST(Estimate, is_the_same_on_every_instruction_set) {
    const Shape shape{32, 32, 32};
    std::vector<std::uint64_t> expected;
    for_each_target([&](const char* target) {
        SCOPED_TRACE(target);
        std::vector<std::uint64_t> found;
        for (const char* name : k_fields) {
            const auto values = read_field(name);
            const std::vector<double> wide(values.begin(), values.end());
            for (const Mode mode : k_estimated_modes) {
                CompressOptions options;
                options.mode = mode;
                const auto narrow_estimate = estimate(std::as_bytes(std::span(values)), float32,
                                                      shape, relative(1e-3), options);
                const auto wide_estimate = estimate(std::as_bytes(std::span(wide)), float64, shape,
                                                    relative(1e-3), options);
                ASSERT_TRUE(narrow_estimate.ok() && wide_estimate.ok());
                found.push_back(narrow_estimate->bytes);
                found.push_back(wide_estimate->bytes);
            }
        }
        if (expected.empty()) expected = found;
        EXPECT_EQ(found, expected);
    });
}

}  // namespace
}  // namespace caesura::codec
