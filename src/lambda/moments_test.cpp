#include "lambda/moments.hpp"

#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// The reference, in long double and two passes.
template <class T>
Moments reference(const std::vector<T>& values) {
    Moments m;
    long double sum = 0, squares = 0;
    for (const T x : values) {
        if (std::isnan(x)) ++m.nan;
        if (std::isinf(x)) ++m.infinite;
        if (!std::isfinite(x)) continue;
        ++m.count;
        sum += x;
        m.low = std::min(m.low, double{x});
        m.high = std::max(m.high, double{x});
    }
    const long double mean = m.count > 0 ? sum / static_cast<long double>(m.count) : 0;
    for (const T x : values)
        if (std::isfinite(x)) squares += (x - mean) * (x - mean);
    m.origin = static_cast<double>(mean);
    m.squares = static_cast<double>(squares);
    return m;
}

template <class T>
void compare(const std::vector<T>& values, double tolerance = 1e-12) {
    const Moments wanted = reference(values);
    Moments found;
    found.add(std::span<const T>(values));
    EXPECT_EQ(found.count, wanted.count);
    EXPECT_EQ(found.nan, wanted.nan);
    EXPECT_EQ(found.infinite, wanted.infinite);
    EXPECT_EQ(found.low, wanted.low);
    EXPECT_EQ(found.high, wanted.high);
    const double spread = std::sqrt(wanted.squares / std::max(1.0, double(wanted.count)));
    EXPECT_NEAR(found.mean(), wanted.mean(),
                1e-15 * std::abs(wanted.mean()) * 4 + tolerance * spread);
    EXPECT_NEAR(found.squares, wanted.squares, tolerance * wanted.squares);
}

// Lengths around those of vectors and blocks, with and without what is not finite.
TEST(Moments, are_those_of_long_double_for_every_length) {
    std::mt19937_64 random(41);
    for (std::uint64_t n = 0; n < 70; ++n) {
        compare(random_object<float>(Shape{n}, random, 0.2).values);
        compare(random_object<double>(Shape{n}, random, 0.2).values);
    }
    for (const std::uint64_t n : {4095u, 4096u, 4097u, 100000u}) {
        compare(random_object<float>(Shape{n}, random, 0.001).values);
        compare(random_object<double>(Shape{n}, random).values);
    }
    compare(std::vector<float>(10, std::numeric_limits<float>::quiet_NaN()));
}

TEST(Moments, a_large_mean_costs_no_digits_of_the_variance) {
    std::mt19937_64 random(42);
    std::normal_distribution<double> noise;
    std::vector<double> values(100000);
    for (double& value : values) value = 1e9 + noise(random);
    compare(values, 1e-11);
    // An outlier from which all deviations of its block are taken.
    values[4096] = -1e12;
    compare(values, 1e-11);
}

TEST(Moments, parts_merge_to_the_whole) {
    const Registry registry;
    std::mt19937_64 random(43);
    for (int round = 0; round < 40; ++round) {
        auto object = random_object<double>(random_shape(1 + round % 4, 12, random), random, 0.05);
        object.cut(1 + random() % 12, random);
        const Results whole = take(registry.run("stats", object.whole()));
        const Results parts = take(in_parts(registry, "stats", object, random));
        for (const char* exact : {"count", "nan", "infinite"})
            EXPECT_EQ(number(parts, exact), number(whole, exact)) << "seed 43 round " << round;
        if (number(whole, "count") == 0) continue;
        EXPECT_EQ(number(parts, "min"), number(whole, "min"));
        EXPECT_EQ(number(parts, "max"), number(whole, "max"));
        EXPECT_NEAR(number(parts, "mean"), number(whole, "mean"), 1e-14);
        EXPECT_NEAR(number(parts, "variance"), number(whole, "variance"), 1e-13);
    }
}

TEST(Moments, nothing_has_no_mean_and_one_value_no_sample_variance) {
    const Registry registry;
    const TestObject<float> none{{0, 3}, {}, {}}, one{{1}, {2.5f}, {}};
    const Results empty = take(registry.run("stats", none.whole()));
    EXPECT_EQ(number(empty, "count"), 0.0);
    for (const char* name : {"min", "max", "mean", "variance"})
        EXPECT_TRUE(std::isnan(number(empty, name))) << name;
    EXPECT_EQ(number(take(registry.run("variance", one.whole())), "variance"), 0.0);
    EXPECT_TRUE(
        std::isnan(number(take(registry.run("variance(ddof=1)", one.whole())), "variance")));
    EXPECT_EQ(number(take(registry.run("mean", one.whole())), "mean"), 2.5);
}

}  // namespace
}  // namespace caesura::lambda
