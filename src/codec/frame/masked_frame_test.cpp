// Goal: missing values, declared or suspected, come back bit for bit and belong to no range, in
// every mode, type and number of axes; they cost what their runs cost; arrays without any have the
// bytes that they always had; no damaged mask is believed.
#include "codec/frame/masked_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/short_float.hpp"
#include "codec/frame/verify.hpp"
#include "codec/test_arrays.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::vector<std::byte>;
constexpr float k_netcdf = 9.9692099683868690e36F;

template <class T>
Bytes raw_bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

/// Frame and array again; the frame keeps its promise.
Bytes masked_round_trip(const Bytes& values, DType dtype, const Shape& shape,
                        const ErrorBound& bound, const CompressOptions& options,
                        FrameInfo* info = nullptr) {
    const auto frame = compress(values, dtype, shape, bound, options);
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    if (!frame.ok()) return {};
    EXPECT_LE(frame->size(), values.size() + k_frame_overhead_bytes);
    const auto found = verify_frame(*frame, values);
    EXPECT_TRUE(found.ok()) << found.status().message();
    if (found.ok()) EXPECT_EQ(found->violations, 0u) << "at " << found->first_violation;
    const auto said = read_frame_info(*frame);
    EXPECT_TRUE(said.ok()) << said.status().message();
    if (said.ok() && info != nullptr) *info = *said;
    Bytes decoded(values.size());
    EXPECT_TRUE(decompress(*frame, decoded).ok());
    return decoded;
}

/// Land of this value in `share` of an array, as one continent and islands, and the sea.
template <class T>
std::vector<T> ocean(const Shape& shape, T fill, double share, unsigned seed) {
    std::vector<T> values = smooth_array<T>(shape, seed);
    std::mt19937 random(seed);
    const std::size_t row = shape[shape.rank() - 1];
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<T>(280) + 10 * values[i];
        const double coast = static_cast<double>(row) *
                             (share + 0.1 * std::sin(static_cast<double>(i / row) * 0.05));
        if (static_cast<double>(i % row) < coast) values[i] = fill;
    }
    for (int island = 0; island < 20; ++island)
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(random() % (values.size() - 4)), 3,
                    fill);
    return values;
}

/// The largest error of the sea, and whether all land came back bit for bit.
template <class T>
std::pair<double, bool> sea_and_land(const std::vector<T>& values, const Bytes& decoded, T fill) {
    double worst = 0;
    bool land = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
        T back;
        std::memcpy(&back, &decoded[i * sizeof(T)], sizeof(T));
        if (std::memcmp(&values[i], &fill, sizeof(T)) == 0)
            land = land && std::memcmp(&back, &fill, sizeof(T)) == 0;
        else
            worst = std::max(worst,
                             std::abs(static_cast<double>(back) - static_cast<double>(values[i])));
    }
    return {worst, land};
}

TEST(MaskedFrame, a_relative_bound_is_one_of_the_values_that_are_there) {
    for (const float fill : {k_netcdf, 1e20F, -9999.0F, std::numeric_limits<float>::quiet_NaN()}) {
        SCOPED_TRACE(fill);
        const Shape shape{128, 128};
        const auto values = ocean<float>(shape, fill, 0.4, 1);
        for (const bool declared : {true, false}) {
            CompressOptions options;
            if (declared) options.missing = std::as_bytes(std::span(&fill, 1));
            const Bytes decoded =
                masked_round_trip(raw_bytes_of(values), float32, shape, relative(1e-3), options);
            const auto [worst, land] = sea_and_land(values, decoded, fill);
            EXPECT_LE(worst, 1e-3 * 40) << "declared: " << declared;
            EXPECT_TRUE(land) << "declared: " << declared;
        }
    }
}

TEST(MaskedFrame, an_absolute_bound_leaves_a_fill_as_it_is) {
    // -9999 lies on the bound's lattice, so nothing but the mask keeps it.
    const Shape shape{64, 96};
    for (const double bound : {1e-3, 0.3}) {
        const auto values = ocean<double>(shape, -9999.0, 0.3, 2);
        FrameInfo info;
        const Bytes decoded =
            masked_round_trip(raw_bytes_of(values), float64, shape, absolute(bound), {}, &info);
        const auto [worst, land] = sea_and_land(values, decoded, -9999.0);
        EXPECT_LE(worst, bound);
        EXPECT_TRUE(land);
        EXPECT_EQ(info.version, k_masked_frame_version);
        EXPECT_GT(info.missing_values, 0u);
        EXPECT_EQ(info.bound, absolute(bound));
    }
}

template <class T>
void try_random_masks(unsigned seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Shape shapes[] = {{1000}, {31, 37}, {9, 17, 21}, {3, 8, 9, 13}, {1, 1, 700}};
    const Shape shape = shapes[random() % std::size(shapes)];
    auto values = smooth_array<T>(shape, seed);
    T payload = std::numeric_limits<T>::quiet_NaN();
    std::memset(&payload, 0x5a, 2);
    const T fills[] = {T(1e20),
                       T(-9999),
                       payload,
                       T(0.25),
                       -T(0),
                       std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::max()};
    std::vector<T> missing;
    for (std::size_t k = 0; k <= random() % 3; ++k) missing.push_back(fills[random() % 7]);
    const unsigned rare = 1 + random() % 40;
    const unsigned run = 1 + random() % 30;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (random() % rare != 0) continue;
        const T fill = missing[random() % missing.size()];
        for (std::size_t j = i; j < std::min<std::size_t>(values.size(), i + random() % run); ++j)
            values[j] = fill;
    }
    if (random() % 4 == 0) sprinkle_specials(values, seed);
    const ErrorBound bounds[] = {absolute(1e-3), relative(1e-3), pointwise_relative(1e-2),
                                 psnr(60),       absolute(1e-9), lossless()};
    CompressOptions options;
    options.mode = static_cast<Mode>(random() % 5);
    options.missing = std::as_bytes(std::span(missing));
    options.find_suspects = random() % 2 == 0;
    options.checksum = random() % 2 == 0;
    const ErrorBound bound = bounds[random() % 6];
    const Bytes decoded =
        masked_round_trip(raw_bytes_of(values), dtype_of<T>(), shape, bound, options);
    for (const T fill : missing) EXPECT_TRUE(sea_and_land(values, decoded, fill).second);
}

TEST(MaskedFrame, random_masks_come_back_in_every_mode_and_bound) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        try_random_masks<float>(seed);
        try_random_masks<double>(seed + 1000);
    }
}

TEST(MaskedFrame, values_of_16_bits_are_masked_as_well) {
    const Shape shape{40, 50};
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
        for (const ErrorBound& bound : {relative(0.05), absolute(0.5), pointwise_relative(0.1)}) {
            for (const bool declared : {true, false}) {
                auto wide = ocean<float>(shape, -9999.0F, 0.4, 3);
                Bytes values(wide.size() * 2);
                base::narrow(std::as_bytes(std::span(wide)).data(), dtype, values);
                CompressOptions options;  // of the first value, which is land
                if (declared) options.missing = std::span(values).first(2);
                const Bytes decoded = masked_round_trip(values, dtype, shape, bound, options);
                ASSERT_EQ(decoded.size(), values.size());
                double worst = 0;
                Bytes back(wide.size() * 4);
                base::widen(decoded, dtype, back.data());
                for (std::size_t i = 0; i < wide.size(); ++i) {
                    if (std::memcmp(&values[2 * i], values.data(), 2) == 0) {
                        EXPECT_EQ(std::memcmp(&decoded[2 * i], values.data(), 2), 0);
                        continue;
                    }
                    float found = 0;
                    std::memcpy(&found, &back[4 * i], 4);
                    worst = std::max(worst, std::abs(static_cast<double>(found - wide[i])));
                }
                EXPECT_LE(worst, 35.0);  // a bound of the land's range would be 500
            }
        }
    }
}

TEST(MaskedFrame, an_array_of_missing_values_alone_is_some_bytes) {
    const Shape shape{50, 60};
    const std::vector<float> values(shape.count(), -9999.0F);
    const float two[] = {-9999.0F, 1e20F};
    CompressOptions options;
    options.missing = std::as_bytes(std::span(two));
    const auto frame = compress(raw_bytes_of(values), float32, shape, relative(1e-3), options);
    ASSERT_TRUE(frame.ok());
    EXPECT_LT(frame->size(), 250u);
    EXPECT_EQ(masked_round_trip(raw_bytes_of(values), float32, shape, relative(1e-3), options),
              raw_bytes_of(values));
}

TEST(MaskedFrame, several_fills_and_nan_in_one_array_are_all_exact) {
    const Shape shape{60, 70};
    auto values = ocean<float>(shape, 1e20F, 0.3, 5);
    for (std::size_t i = 0; i < 500; ++i) values[i * 7] = -9999.0F;
    for (std::size_t i = 0; i < 300; ++i) values[i * 11] = std::numeric_limits<float>::quiet_NaN();
    const Bytes decoded =
        masked_round_trip(raw_bytes_of(values), float32, shape, relative(1e-3), {});
    EXPECT_TRUE(sea_and_land(values, decoded, 1e20F).second);
    EXPECT_TRUE(sea_and_land(values, decoded, -9999.0F).second);
    EXPECT_TRUE(sea_and_land(values, decoded, std::numeric_limits<float>::quiet_NaN()).second);
}

TEST(MaskedFrame, more_missing_values_than_a_mask_tells_apart_are_all_exact) {
    // 255 declared ones and a suspect.
    const Shape shape{64, 96};
    auto values = ocean<float>(shape, 1e20F, 0.3, 9);
    std::vector<float> declared;
    for (int i = 0; i < 255; ++i)
        values[static_cast<std::size_t>(i) * 20 + 95] =
            declared.emplace_back(280.0F + 0.01F * static_cast<float>(i));
    CompressOptions options;
    options.missing = std::as_bytes(std::span(declared));
    for (const ErrorBound& bound : {relative(1e-2), absolute(0.5)}) {
        const Bytes decoded =
            masked_round_trip(raw_bytes_of(values), float32, shape, bound, options);
        ASSERT_EQ(decoded.size(), values.size() * sizeof(float));
        std::vector<float> back(values.size());
        std::memcpy(back.data(), decoded.data(), decoded.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] == 1e20F || std::ranges::count(declared, values[i]) > 0)
                wrong += back[i] == values[i] ? 0 : 1;
        EXPECT_EQ(wrong, 0u);
        EXPECT_TRUE(estimate(raw_bytes_of(values), float32, shape, bound, options).ok());
    }
}

TEST(MaskedFrame, filled_holes_stay_within_the_range_of_the_others) {
    // Goal: also holes at the very beginning, before any value, in both ways of filling.
    const Shape shape{40, 50};
    const auto values = ocean<float>(shape, 1e20F, 0.4, 4);
    for (const Mode mode : {Mode::fast, Mode::strong}) {
        CompressOptions options;
        options.mode = mode;
        const auto array =
            without_missing(raw_bytes_of(values), float32, shape, relative(1e-3), options, nullptr);
        ASSERT_TRUE(array.has_value());
        const FiniteRange filled = finite_range(array->filled, float32, 1);
        const Findings found = look_for_missing(raw_bytes_of(values), float32, {});
        EXPECT_EQ(filled.lowest, found.range.lowest);
        EXPECT_EQ(filled.highest, found.range.highest);
    }
}

TEST(MaskedFrame, land_costs_about_nothing) {
    // Goal: a field of which 40 % are land takes about the bytes of its sea.
    const Shape shape{512, 512};
    for (const Mode mode : {Mode::fast, Mode::strong, Mode::automatic}) {
        CompressOptions options;
        options.mode = mode;
        const auto all_sea = ocean<float>(shape, 280.0F, -1.0, 7);
        const auto with_land = ocean<float>(shape, k_netcdf, 0.4, 7);
        const auto sea = compress(raw_bytes_of(all_sea), float32, shape, absolute(0.02), options);
        const auto land =
            compress(raw_bytes_of(with_land), float32, shape, absolute(0.02), options);
        ASSERT_TRUE(sea.ok() && land.ok());
        // Of the sea's 60 %, and what coasts and their islands cost.
        EXPECT_LT(static_cast<double>(land->size()), 0.9 * static_cast<double>(sea->size()))
            << static_cast<int>(mode);
        const auto estimated =
            estimate(raw_bytes_of(with_land), float32, shape, absolute(0.02), options);
        ASSERT_TRUE(estimated.ok());
        EXPECT_NEAR(static_cast<double>(estimated->bytes) / static_cast<double>(land->size()), 1.0,
                    0.2);
    }
}

TEST(MaskedFrame, an_array_without_missing_values_has_the_bytes_of_before) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        const Shape shape{20, 30, 10};
        auto values = raw_bytes_of(smooth_array<float>(shape, seed));
        CompressOptions plain;
        plain.find_suspects = false;
        const float declared = 1e20F;
        CompressOptions told;
        told.missing = std::as_bytes(std::span(&declared, 1));
        for (const ErrorBound& bound : {absolute(1e-3), relative(1e-4), psnr(70)})
            EXPECT_EQ(*compress(values, float32, shape, bound, plain),
                      *compress(values, float32, shape, bound, told));
    }
}

TEST(MaskedFrame, what_is_data_is_not_suspected) {
    // Goal: peaks, floors, plateaus and values of one sign far apart stay data.
    const Shape shape{40, 40, 10};
    const auto suspects = [&](const std::vector<float>& values) {
        return look_for_missing(raw_bytes_of(values), float32, {}).suspects.size();
    };
    auto values = smooth_array<float>(shape, 1);
    EXPECT_EQ(suspects(values), 0u);
    auto peak = values;
    peak[77] = 1e12F;  // once
    EXPECT_EQ(suspects(peak), 0u);
    auto plateau = values;
    for (std::size_t i = 0; i < 500; ++i) plateau[i] = 1000.0F;
    EXPECT_EQ(suspects(plateau), 0u);
    auto levels = values;  // 9999 among values as large
    for (std::size_t i = 0; i < levels.size(); ++i)
        levels[i] = i % 3 == 0 ? 9999.0F : 5000 * levels[i];
    EXPECT_EQ(suspects(levels), 0u);
    std::mt19937 random(5);
    auto density = values;  // ten orders of magnitude
    for (float& value : density)
        value = std::exp(23.0F * static_cast<float>(random()) / 4294967296.0F);
    EXPECT_EQ(suspects(density), 0u);
    auto land = values;
    for (std::size_t i = 0; i < 2; ++i) land[i * 9] = 1e20F;
    EXPECT_EQ(suspects(land), 1u);
    for (std::size_t i = 100; i < 200; ++i) land[i] = -3e9F;  // unusual, and repeats
    EXPECT_EQ(suspects(land), 2u);
}

TEST(MaskedFrame, damaged_masks_are_refused) {
    const Shape shape{24, 25};
    const auto values = raw_bytes_of(ocean<float>(shape, 1e20F, 0.4, 9));
    CompressOptions options;
    options.checksum = false;
    const auto frame = compress(values, float32, shape, absolute(1e-2), options);
    ASSERT_TRUE(frame.ok());
    ASSERT_EQ(read_frame_info(*frame)->version, k_masked_frame_version);
    Bytes decoded(values.size());
    for (std::size_t length = 0; length < frame->size(); ++length)
        EXPECT_FALSE(decompress(std::span(*frame).first(length), decoded).ok()) << length;
    // No crash, whatever a byte says; with a checksum nothing is believed.
    for (std::size_t at = 0; at < frame->size(); ++at) {
        for (const unsigned bit : {0U, 3U, 7U}) {
            Bytes broken = *frame;
            broken[at] ^= static_cast<std::byte>(1U << bit);
            (void)decompress(broken, decoded);
        }
    }
    const auto checked = compress(values, float32, shape, absolute(1e-2));
    ASSERT_TRUE(checked.ok());
    for (std::size_t at = 0; at < checked->size(); ++at) {
        Bytes broken = *checked;
        broken[at] ^= std::byte{0x10};
        EXPECT_FALSE(decompress(broken, decoded).ok()) << at;
    }
}

}  // namespace
}  // namespace caesura::codec
