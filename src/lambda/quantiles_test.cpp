#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// The least value whose rank is at least share * n.
template <class T>
double exact_quantile(const std::vector<T>& sorted, double share) {
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    return double{sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1]};
}

template <class T>
std::vector<T> sorted_finite(std::vector<T> values) {
    std::erase_if(values, [](T value) { return !std::isfinite(value); });
    std::sort(values.begin(), values.end());
    return values;
}

template <class T>
void check_small(std::mt19937_64& random, int round) {
    const Registry registry;
    auto object = random_object<T>(random_shape(1 + round % 3, 11, random), random, 0.1);
    object.cut(1 + random() % 6, random);
    const auto sorted = sorted_finite(object.values);
    if (sorted.empty()) return;
    const Results found = take(in_parts(registry, "quantiles", object, random));
    EXPECT_EQ(number(found, "exact"), 1.0);
    EXPECT_EQ(number(found, "count"), static_cast<double>(sorted.size()));
    const auto shares = list<double>(found, "at"), values = list<double>(found, "values");
    for (std::size_t i = 0; i < shares.size(); ++i)
        EXPECT_EQ(values[i], exact_quantile(sorted, shares[i])) << "seed 71 round " << round;
}

TEST(Quantiles, of_few_values_are_exact) {
    std::mt19937_64 random(71);
    for (int round = 0; round < 30; ++round) {
        check_small<float>(random, round);
        check_small<double>(random, round);
    }
}

/// How far a value's ranks lie from the share that was asked for.
double rank_off(const std::vector<double>& sorted, double value, double share) {
    const auto n = static_cast<double>(sorted.size());
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
    const double below = static_cast<double>(low - sorted.begin()) / n;
    const double above = static_cast<double>(high - sorted.begin()) / n;
    return std::max({0.0, below - share, share - above});
}

// Stated for 99 % of all sketches, at each share; merged from parts as well as of one piece.
TEST(Quantiles, ranks_are_off_by_no_more_than_stated) {
    const Registry registry;
    std::mt19937_64 random(72);
    for (const int size : {128, 512}) {
        const std::string call = "quantiles(size=" + std::to_string(size) +
                                 ", at=[0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1])";
        int asked = 0, beyond = 0;
        for (int round = 0; round < 60; ++round) {
            auto object = random_object<double>({60000}, random);
            if (round % 3 == 1) std::sort(object.values.begin(), object.values.end());
            if (round % 3 == 2)
                for (double& value : object.values) value = std::floor(5.0 * value);
            object.cut(1 + random() % 9, random);
            const auto sorted = sorted_finite(object.values);
            const Results found = take(in_parts(registry, call, object, random));
            const double stated = number(found, "rank_error");
            EXPECT_NEAR(stated, 2.296 / std::pow(size, 0.9021), 1e-12);
            const auto shares = list<double>(found, "at"), values = list<double>(found, "values");
            EXPECT_EQ(values.front(), sorted.front());
            EXPECT_EQ(values.back(), sorted.back());
            EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
            for (std::size_t i = 1; i + 1 < shares.size(); ++i, ++asked)
                beyond += rank_off(sorted, values[i], shares[i]) > stated;
        }
        EXPECT_LE(beyond, asked / 100) << "seed 72 size " << size;
    }
}

TEST(Quantiles, the_sketch_stays_small) {
    const Registry registry;
    std::mt19937_64 random(73);
    const auto object = random_object<float>({1000000}, random);
    auto state = take(registry.start("quantiles"));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(state.add(object.whole()).ok());
        EXPECT_LT(state.bytes().size(), 8u * (3 * 2048 + 128 * 16));
    }
}

}  // namespace
}  // namespace caesura::lambda
