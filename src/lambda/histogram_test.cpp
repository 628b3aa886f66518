#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// By definition: the bin whose edges hold the value.
template <class T>
std::vector<std::int64_t> reference(const std::vector<T>& values, std::size_t bins, double low,
                                    double high) {
    std::vector<double> edges(bins + 1);
    const double step = (high - low) / static_cast<double>(bins);
    for (std::size_t i = 0; i < bins; ++i) edges[i] = static_cast<double>(i) * step + low;
    edges[bins] = high;
    std::vector<std::int64_t> counts(bins);
    for (const T x : values) {
        if (!(x >= low && x <= high)) continue;
        const auto above = std::upper_bound(edges.begin(), edges.end(), double{x});
        const auto bin = std::min<std::ptrdiff_t>(above - edges.begin() - 1,
                                                  static_cast<std::ptrdiff_t>(bins) - 1);
        ++counts[static_cast<std::size_t>(bin)];
    }
    return counts;
}

template <class T>
void check_parts(std::mt19937_64& random, int round) {
    const Registry registry;
    auto object = random_object<T>(random_shape(1 + round % 4, 12, random), random, 0.05);
    // Values on edges.
    for (T& value : object.values)
        if (random() % 4 == 0) value = static_cast<T>(0.1) * static_cast<T>(random() % 11);
    object.cut(1 + random() % 12, random);
    const Results fixed =
        take(in_parts(registry, "histogram(bins=10, low=0, high=1)", object, random));
    EXPECT_EQ(list<std::int64_t>(fixed, "counts"), reference(object.values, 10, 0.0, 1.0))
        << "seed 51 round " << round;
    double below = 0, above = 0;
    for (const T x : object.values) {
        below += std::isfinite(x) && x < 0;
        above += std::isfinite(x) && double{x} > 1;
    }
    EXPECT_EQ(number(fixed, "below"), below);
    EXPECT_EQ(number(fixed, "above"), above);
    EXPECT_EQ(number(fixed, "count") + number(fixed, "nan") + number(fixed, "infinite"),
              static_cast<double>(object.values.size()));
    const Results free = take(in_parts(registry, "histogram(bins=7)", object, random));
    EXPECT_EQ(list<std::int64_t>(free, "counts"),
              reference(object.values, 7, number(free, "low"), number(free, "high")));
    EXPECT_EQ(number(free, "below") + number(free, "above"), 0.0);
    EXPECT_EQ(free, take(registry.run("histogram(bins=7)", object.whole())));
}

TEST(Histogram, every_value_is_in_the_bin_whose_edges_hold_it) {
    std::mt19937_64 random(51);
    for (int round = 0; round < 30; ++round) {
        check_parts<float>(random, round);
        check_parts<double>(random, round);
    }
}

TEST(Histogram, the_automatic_range_of_few_values_is_numpys) {
    const Registry registry;
    const TestObject<double> none{{0}, {}, {}}, same{{3}, {2.0, 2.0, 2.0}, {}};
    const Results empty = take(registry.run("histogram", none.whole()));
    EXPECT_EQ(number(empty, "low"), 0.0);
    EXPECT_EQ(number(empty, "high"), 1.0);
    const Results one = take(registry.run("histogram(bins=2)", same.whole()));
    EXPECT_EQ(number(one, "low"), 1.5);
    EXPECT_EQ(list<std::int64_t>(one, "counts"), (std::vector<std::int64_t>{0, 3}));
    EXPECT_EQ(number(take(registry.run("histogram(low=3)", same.whole())), "below"), 3.0);
    const TestObject<double> wide{{2}, {-1.7e308, 1.7e308}, {}};
    EXPECT_EQ(registry.run("histogram", wide.whole()).status().code(),
              StatusCode::invalid_argument);
}

}  // namespace
}  // namespace caesura::lambda
