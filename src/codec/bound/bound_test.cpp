// Bounds: what is accepted, and that the fast comparison judges like a slow and obvious one.
#include "codec/bound/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codec/bound/round_to_grid.hpp"

namespace caesura::codec {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

template <class T>
constexpr DType dtype_of() {
    return sizeof(T) == 4 ? float32 : float64;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span<const T>(values));
}

template <class T>
BoundCheck check(const std::vector<T>& x, const std::vector<T>& y, const ErrorBound& bound) {
    const Shape all{x.size()};
    return check_bound(bytes_of(x), bytes_of(y), dtype_of<T>(), all, all, bound);
}

TEST(ErrorBound, accepts_what_can_be_kept_and_names_what_cannot) {
    EXPECT_TRUE(validate(lossless()).ok());
    EXPECT_TRUE(validate(absolute(1e-300)).ok());
    EXPECT_TRUE(validate(absolute(1e300)).ok());
    EXPECT_TRUE(validate(relative(0.999)).ok());
    for (const double value : {0.0, -1.5, k_nan, k_inf, -k_inf}) {
        EXPECT_EQ(validate(absolute(value)).code(), StatusCode::invalid_argument) << value;
        EXPECT_EQ(validate(relative(value)).code(), StatusCode::invalid_argument) << value;
        EXPECT_EQ(validate(pointwise_relative(value)).code(), StatusCode::invalid_argument);
        EXPECT_EQ(validate(psnr(value)).code(), StatusCode::invalid_argument) << value;
    }
    EXPECT_TRUE(validate(pointwise_relative(1e-12)).ok());
    EXPECT_TRUE(validate(psnr(399.9)).ok());
    EXPECT_EQ(validate(relative(1.0)).code(), StatusCode::invalid_argument);
    EXPECT_EQ(validate(pointwise_relative(1.0)).code(), StatusCode::invalid_argument);
    EXPECT_EQ(validate(psnr(400)).code(), StatusCode::invalid_argument);
    EXPECT_NE(validate(absolute(-1.5)).message().find("-1.5"), std::string::npos);
}

TEST(CheckBound, a_bound_met_exactly_holds_and_one_ulp_more_does_not) {
    const std::vector<float> x(1000, 1.0f);
    std::vector<float> y = x;
    y[777] = 1.25f;
    EXPECT_TRUE(check(x, y, absolute(0.25)).holds);
    EXPECT_EQ(check(x, y, absolute(0.25)).max_error, 0.25);
    y[777] = std::nextafter(1.25f, 2.0f);
    EXPECT_FALSE(check(x, y, absolute(0.25)).holds);
}

TEST(CheckBound, special_values_must_stay_what_they_are) {
    struct Case {
        double x, y;
        bool holds;
    };
    const Case cases[] = {
        {k_nan, k_nan, true},  {k_nan, -k_nan, true},  {k_nan, 0, false}, {0, k_nan, false},
        {k_inf, k_inf, true},  {-k_inf, k_inf, false}, {k_inf, 1, false}, {1, k_inf, false},
        {k_inf, k_nan, false}, {k_nan, k_inf, false},  {0.0, -0.0, true}, {1e-310, 0, true},
    };
    for (const Case& c : cases) {
        for (const std::size_t place : {0u, 15u, 16u, 4095u, 4096u, 4999u}) {
            std::vector<double> x(5000, 3.0);
            std::vector<double> y(5000, 3.5);
            x[place] = c.x;
            y[place] = c.y;
            const BoundCheck result = check(x, y, absolute(1.0));
            EXPECT_EQ(result.holds, c.holds) << c.x << " -> " << c.y << " at " << place;
            EXPECT_EQ(result.max_error, 0.5);
        }
    }
}

TEST(CheckBound, lossless_asks_for_identical_bits) {
    const std::vector<float> x = {0.0f, 1.0f, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_TRUE(check(x, x, lossless()).holds);
    std::vector<float> y = x;
    y[0] = -0.0f;
    EXPECT_FALSE(check(x, y, lossless()).holds);
}

/// The obvious way: every index of the chunk, skip those outside.
template <class T>
BoundCheck slow_check(const std::vector<T>& x, const std::vector<T>& y, const Shape& chunk,
                      const Shape& valid, double bound) {
    BoundCheck result{true, 0.0};
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::size_t rest = i;
        bool inside = true;
        for (int axis = chunk.rank() - 1; axis >= 0; --axis) {
            inside = inside && rest % chunk[axis] < valid[axis];
            rest /= chunk[axis];
        }
        if (!inside) continue;
        const double a = static_cast<double>(x[i]);
        const double b = static_cast<double>(y[i]);
        if (std::isfinite(a) && std::isfinite(b)) {
            result.max_error = std::max(result.max_error, std::abs(a - b));
        }
        const bool same = std::isnan(a) ? std::isnan(b) : a == b;
        if (!same && !(std::abs(a - b) <= bound)) result.holds = false;
    }
    return result;
}

template <class T>
void compare_with_slow(unsigned seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << sizeof(T) << " bytes");
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return random() % n; };
    Shape chunk = Shape::filled(1 + static_cast<int>(below(4)), 1);
    Shape valid = chunk;
    for (int axis = 0; axis < chunk.rank(); ++axis) {
        chunk[axis] = 1 + below(chunk.rank() == 1 ? 20000 : 24);
        valid[axis] = below(3) ? chunk[axis] : 1 + below(static_cast<unsigned>(chunk[axis]));
    }
    std::uniform_real_distribution<double> value(-10, 10);
    std::vector<T> x(chunk.count());
    std::vector<T> y(chunk.count());
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<T>(value(random));
        y[i] = x[i] + static_cast<T>(0.01 * value(random));
    }
    for (unsigned changes = below(3); changes > 0; --changes) {  // 0 to 2 values go wrong
        const std::size_t place = below(static_cast<unsigned>(x.size()));
        constexpr double k_values[] = {5.0, k_nan, k_inf, -k_inf};
        (below(2) ? x : y)[place] = static_cast<T>(k_values[below(4)]);
        if (below(2)) y[place] = x[place];
    }
    const BoundCheck slow = slow_check(x, y, chunk, valid, 0.11);
    const BoundCheck fast =
        check_bound(bytes_of(x), bytes_of(y), dtype_of<T>(), chunk, valid, absolute(0.11));
    EXPECT_EQ(fast.holds, slow.holds);
    EXPECT_EQ(fast.max_error, slow.max_error);
}

TEST(CheckBound, agrees_with_the_obvious_way_on_random_blocks) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        compare_with_slow<float>(seed);
        compare_with_slow<double>(seed);
    }
}

TEST(ValueRange, finds_a_single_special_value_anywhere) {
    for (const double special : {k_nan, k_inf, -k_inf}) {
        for (std::size_t place = 0; place < 70; ++place) {
            std::vector<float> x(70, 3.4e38f);
            std::vector<double> y(70, -1.7e308);
            EXPECT_TRUE(value_range(bytes_of(x), float32).finite);
            EXPECT_TRUE(value_range(bytes_of(y), float64).finite);
            x[place] = static_cast<float>(special);
            y[place] = special;
            EXPECT_FALSE(value_range(bytes_of(x), float32).finite) << special << " at " << place;
            EXPECT_FALSE(value_range(bytes_of(y), float64).finite) << special << " at " << place;
        }
    }
}

TEST(ValueRange, finds_the_extremes_anywhere) {
    for (std::size_t place = 0; place < 70; ++place) {
        std::vector<double> x(70, 5.0);
        x[place] = -7.0;
        x[(place + 33) % 70] = 8.0;
        const ValueRange range = value_range(bytes_of(x), float64);
        EXPECT_EQ(range.lowest, -7.0);
        EXPECT_EQ(range.highest, 8.0);
    }
}

template <class T>
void check_rounding(unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> x(2000);
    // Any bit pattern: NaN, infinities, denormals and every exponent come up.
    for (T& value : x) {
        const std::uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof value);
    }
    const int exponent = static_cast<int>(random() % (2 * std::numeric_limits<T>::max_exponent)) -
                         std::numeric_limits<T>::max_exponent - 10;
    const double bound = std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000.0, exponent);
    const double step = grid_step(bound, dtype_of<T>());
    SCOPED_TRACE(testing::Message() << "seed " << seed << " bound " << bound << " step " << step);
    EXPECT_LE(step, 2 * bound);
    if (step == 0) return;
    EXPECT_GT(2 * step, 2 * bound);
    for (std::size_t i = 0; i < x.size(); i += 3) {  // a third of the values near the step
        const double unit = std::generate_canonical<double, 53>(random);
        x[i] = static_cast<T>((unit - 0.5) * std::ldexp(step, static_cast<int>(i % 30)));
    }
    std::vector<T> y = x;
    round_to_grid(std::as_writable_bytes(std::span<T>(y)), dtype_of<T>(), step);
    EXPECT_TRUE(check(x, y, absolute(bound)).holds);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double value = static_cast<double>(y[i]);
        if (!(std::abs(value) < std::ldexp(step, std::numeric_limits<T>::digits - 2))) continue;
        EXPECT_EQ(std::remainder(value, step), 0.0) << x[i] << " became " << y[i];
    }
}

TEST(RoundToGrid, moves_no_value_by_more_than_the_bound_and_lands_on_the_grid) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        check_rounding<float>(seed);
        check_rounding<double>(seed);
    }
}

TEST(RoundToGrid, has_no_step_where_the_arithmetic_would_overflow_or_vanish) {
    EXPECT_EQ(grid_step(1e300, float32), 0.0);
    EXPECT_EQ(grid_step(1e-60, float32), 0.0);
    EXPECT_EQ(grid_step(1.7e308, float64), 0.0);
    EXPECT_EQ(grid_step(0.2, float32), 0.25);
    EXPECT_EQ(grid_step(0.25, float64), 0.5);
}

}  // namespace
}  // namespace caesura::codec
