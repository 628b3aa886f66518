// Goal: the numbers have the distribution they claim, and depend on what they are for.
#include "simulate/random.hpp"

#include <gtest/gtest.h>

namespace caesura::simulate {
namespace {

TEST(Random, is_standard_normal_and_uncorrelated) {
    const Random random(7);
    const int n = 200'000;
    double sum = 0.0, squares = 0.0, fourth = 0.0, neighbours = 0.0, before = 0.0;
    for (int i = 0; i < n; ++i) {
        const double z = random.normal(Draw::ratio, static_cast<std::uint64_t>(i / 100),
                                       static_cast<std::uint64_t>(i % 100));
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
        neighbours += z * before;
        before = z;
    }
    // Five standard errors of each mean.
    EXPECT_NEAR(sum / n, 0.0, 5 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1.0, 5 * std::sqrt(2.0 / n));
    EXPECT_NEAR(fourth / n, 3.0, 5 * std::sqrt(96.0 / n));
    EXPECT_NEAR(neighbours / n, 0.0, 5 / std::sqrt(n));
}

TEST(Random, a_number_belongs_to_its_place) {
    const Random random(1), other(2);
    EXPECT_EQ(random.normal(Draw::ratio, 3, 4, 5), random.normal(Draw::ratio, 3, 4, 5));
    EXPECT_NE(random.normal(Draw::ratio, 3, 4, 5), random.normal(Draw::write, 3, 4, 5));
    EXPECT_NE(random.normal(Draw::ratio, 3, 4, 5), random.normal(Draw::ratio, 4, 3, 5));
    EXPECT_NE(random.normal(Draw::ratio, 3, 4, 5), random.normal(Draw::ratio, 3, 5, 4));
    EXPECT_NE(random.normal(Draw::ratio, 3, 4, 5), other.normal(Draw::ratio, 3, 4, 5));
}

}  // namespace
}  // namespace caesura::simulate
