// Resolved bounds: ranges skip what is not finite, bounds round down, series are exact enough; and
// kernels give the same bits on every instruction set this machine has.
#include "codec/bound/resolve_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codec/kernels/logarithm_kernels.hpp"
#include "codec/kernels/range_kernels.hpp"
#include "codec/test_targets.hpp"

namespace caesura::codec {
namespace {

template <class T>
constexpr T k_inf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T k_nan = std::numeric_limits<T>::quiet_NaN();

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span<const T>(values));
}

TEST(ResolveBound, the_range_is_of_the_finite_values_of_the_whole_array) {
    std::vector<float> values(3'000'001, 1.0F);
    values[0] = k_nan<float>;
    values[17] = -k_inf<float>;
    values[18] = k_inf<float>;
    values[2'999'999] = -3.5F;
    values[3'000'000] = 7.0F;
    for (const int threads : {1, 2}) {
        const FiniteRange range = finite_range(bytes_of(values), float32, threads);
        EXPECT_TRUE(range.any);
        EXPECT_EQ(range.lowest, -3.5);
        EXPECT_EQ(range.highest, 7.0);
        const ResolvedBound resolved = resolve(relative(0.1), bytes_of(values), float32, threads);
        EXPECT_EQ(resolved.how, ResolvedBound::How::absolute);
        EXPECT_LE(resolved.bound, 0.1 * 10.5);
        EXPECT_GT(resolved.bound, 0.0999999 * 10.5);
    }
    const std::vector<double> none(100, k_nan<double>);
    EXPECT_FALSE(finite_range(bytes_of(none), float64, 1).any);
    EXPECT_EQ(resolve(relative(0.1), bytes_of(none), float64, 1).how, ResolvedBound::How::exact);
}

TEST(ResolveBound, values_at_any_address_have_the_same_range) {
    const std::vector<double> values = {3, -4, 5, 1, 2, 8, -9};
    std::vector<std::byte> moved(values.size() * 8 + 1);
    std::memcpy(moved.data() + 1, values.data(), values.size() * 8);
    const FiniteRange range = finite_range(std::span(moved).subspan(1), float64, 1);
    EXPECT_EQ(range.lowest, -9);
    EXPECT_EQ(range.highest, 8);
}

TEST(ResolveBound, constant_arrays_and_bounds_below_the_type_are_exact) {
    using How = ResolvedBound::How;
    const std::vector<float> constant(100, 2.5F);
    EXPECT_EQ(resolve(relative(0.5), bytes_of(constant), float32, 1).how, How::exact);
    EXPECT_EQ(resolve(psnr(60), bytes_of(constant), float32, 1).how, How::exact);
    EXPECT_EQ(resolve(absolute(1e-50), bytes_of(constant), float32, 1).how, How::exact);
    EXPECT_EQ(resolve(lossless(), bytes_of(constant), float32, 1).how, How::exact);
}

TEST(ResolveBound, bounds_are_rounded_down_to_the_type) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 10000; ++i) {
        const double bound = std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 11), -53),
                                        static_cast<int>(random() % 300) - 160);
        const double rounded = round_down(bound, float32);
        EXPECT_LE(rounded, bound);
        EXPECT_EQ(static_cast<double>(static_cast<float>(rounded)), rounded);
        if (bound < std::numeric_limits<float>::max()) {
            EXPECT_GT(std::nextafter(static_cast<float>(rounded), k_inf<float>), bound);
        }
        EXPECT_EQ(round_down(bound, float64), bound);
    }
    EXPECT_EQ(round_down(1e300, float32), std::numeric_limits<float>::max());
    EXPECT_EQ(round_down(1e-46, float32), 0.0);
}

TEST(ResolveBound, a_range_that_overflows_gives_a_finite_bound) {
    const std::vector<double> values = {-1.7e308, 1.7e308};
    EXPECT_NEAR(resolve(relative(0.01), bytes_of(values), float64, 1).bound, 3.4e306, 1e300);
}

TEST(ResolveBound, own_powers_and_logarithms_agree_with_the_library) {
    for (double x = 1e-15; x <= 1.0; x *= 1.03)
        EXPECT_NEAR(log2_1p(x) / (std::log1p(x) / std::log(2.0)), 1.0, 1e-15) << x;
    for (double x = -70.0; x < 70.0; x += 0.0137)
        EXPECT_NEAR(power_of_2(x) / std::exp2(x), 1.0, 2e-15) << x;
}

TEST(ResolveBound, psnr_starts_from_evenly_spread_errors) {
    const std::vector<float> values = {0.0F, 100.0F};
    const ResolvedBound resolved = resolve(psnr(40), bytes_of(values), float32, 1);
    EXPECT_NEAR(resolved.bound, 100 * 0.01 * std::sqrt(3.0), 1e-6);
    EXPECT_NEAR(resolved.mean_square_limit, 1.0, 1e-9);
}

/// Every kind of value, in an order that puts specials on every lane.
template <class T>
std::vector<T> odd_values(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(n);
    for (T& value : values) {
        const auto kind = random() % 16;
        const double mantissa = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52);
        const int range = std::numeric_limits<T>::max_exponent;
        const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * range)) - range;
        value = static_cast<T>(std::ldexp(mantissa, kind < 8 ? exponent / 8 : exponent));
        if (kind == 15) value = T(0);
        if (kind == 14 && random() % 8 == 0) value = k_nan<T>;
        if (kind == 13 && random() % 8 == 0) value = k_inf<T>;
        if (kind == 12) value = std::numeric_limits<T>::denorm_min() * T(random() % 1000);
        if (random() % 2 == 0) value = -value;
    }
    return values;
}

template <class T>
struct Transformed {
    std::vector<T> y, x;
    std::vector<std::uint16_t> negative, zero, not_finite;
    Extremes<T> finite{}, magnitude{};
};

template <class T>
Transformed<T> transform(const std::vector<T>& x, int centre) {
    Transformed<T> t;
    const std::size_t words = (x.size() + 15) / 16;
    t.y.resize(x.size());
    t.x.resize(x.size());
    t.negative.resize(words);
    t.zero.resize(words);
    t.not_finite.resize(words);
    forward_logarithm(x.data(), x.size(), centre, t.y.data(),
                      {t.negative.data(), t.zero.data(), t.not_finite.data()});
    backward_logarithm(t.y.data(), x.size(), centre, t.negative.data(), t.zero.data(), t.x.data());
    t.finite = finite_extremes(x.data(), x.size());
    t.magnitude = magnitude_extremes(x.data(), x.size());
    return t;
}

template <class T>
void expect_inverse(const std::vector<T>& x, int centre, const Transformed<T>& t) {
    const double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < x.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "value " << x[i] << " at " << i);
        const auto bit = [&](const std::vector<std::uint16_t>& mask) {
            return (mask[i / 16] >> (i % 16) & 1) != 0;
        };
        ASSERT_EQ(bit(t.negative), std::signbit(x[i]));
        ASSERT_EQ(bit(t.zero), x[i] == T(0));
        ASSERT_EQ(bit(t.not_finite), !std::isfinite(x[i]));
        ASSERT_TRUE(std::isfinite(t.y[i]));
        if (!std::isfinite(x[i])) continue;
        ASSERT_EQ(std::signbit(t.x[i]), std::signbit(x[i]));
        if (x[i] == T(0)) {
            ASSERT_EQ(t.x[i], T(0));
            continue;
        }
        // In long double, where the reference has bits to spare.
        const long double reference =
            std::log2(std::abs(static_cast<long double>(x[i]))) - static_cast<long double>(centre);
        const auto exact = static_cast<double>(reference);
        const auto error = static_cast<double>(static_cast<long double>(t.y[i]) - reference);
        ASSERT_NEAR(error, 0.0, epsilon * (0.5 * std::abs(exact) + 2.0));
        if (std::abs(x[i]) < std::numeric_limits<T>::min() * 4) continue;  // rounded denormals
        if (!std::isfinite(t.x[i])) continue;  // above the largest by rounding
        const double ratio = static_cast<double>(t.x[i]) / static_cast<double>(x[i]);
        ASSERT_NEAR(ratio, 1.0, epsilon * (0.4 * std::abs(exact) + 4));
    }
}

template <class T>
void test_on_every_target() {
    for (const std::size_t n : {1u, 15u, 16u, 17u, 100u, 5003u}) {
        const auto values = odd_values<T>(n, static_cast<unsigned>(n));
        for (const int centre : {0, 13, -20}) {
            SCOPED_TRACE(testing::Message() << n << " values, centre " << centre);
            std::vector<Transformed<T>> results;
            for_each_target([&](const char*) { results.push_back(transform(values, centre)); });
            expect_inverse(values, centre, results[0]);
            for (const Transformed<T>& other : results) {
                EXPECT_EQ(0, std::memcmp(other.y.data(), results[0].y.data(), n * sizeof(T)));
                EXPECT_EQ(0, std::memcmp(other.x.data(), results[0].x.data(), n * sizeof(T)));
                EXPECT_EQ(other.negative, results[0].negative);
                EXPECT_EQ(other.zero, results[0].zero);
                EXPECT_EQ(other.not_finite, results[0].not_finite);
                EXPECT_EQ(0, std::memcmp(&other.finite, &results[0].finite, 2 * sizeof(T)));
                EXPECT_EQ(0, std::memcmp(&other.magnitude, &results[0].magnitude, 2 * sizeof(T)));
            }
        }
    }
}

TEST(LogarithmKernels, invert_each_other_with_the_same_bits_on_every_target_float32) {
    test_on_every_target<float>();
}

TEST(LogarithmKernels, invert_each_other_with_the_same_bits_on_every_target_float64) {
    test_on_every_target<double>();
}

TEST(LogarithmKernels, the_way_back_is_safe_on_any_input) {
    std::mt19937_64 random(3);
    std::vector<float> y(4099);
    for (float& value : y) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&value, &bits, sizeof value);
    }
    for (const int centre : {0, 2000, -2000}) {
        std::vector<float> x(y.size());
        backward_logarithm(y.data(), y.size(), centre, nullptr, nullptr, x.data());
        for (const float value : x) EXPECT_GE(value, 0.0F);
    }
}

}  // namespace
}  // namespace caesura::codec
