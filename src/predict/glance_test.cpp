// A glance: the same number wherever the block lies, larger where more goes on, and none where it
// would mislead.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codec/test_arrays.hpp"
#include "predict/predict.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_glance_seed = 20261122;

template <class T>
std::optional<double> glance(const std::vector<T>& values, const Box& array, const Box& part,
                             const ErrorBound& bound) {
    return predict::glance(reinterpret_cast<const std::byte*>(values.data()),
                           caesura::dtype_of<T>(), array, part, bound);
}

template <class T>
std::vector<T> noisy(const Shape& shape, double strength) {
    auto values = codec::smooth_array<T>(shape, k_glance_seed);
    std::mt19937 random(k_glance_seed);
    std::normal_distribution<double> normal(0.0, strength);
    for (T& value : values) value += static_cast<T>(normal(random));
    return values;
}

TEST(Glance, of_a_part_is_that_of_its_copy) {
    for (const auto& [array, part] :
         {std::pair(Box{{0, 0, 0}, {40, 50, 60}}, Box{{3, 5, 7}, {32, 24, 48}}),
          std::pair(Box{{9, 9, 9}, {40, 50, 60}}, Box{{9, 9, 9}, {40, 50, 60}}),
          std::pair(Box{{0, 0}, {200, 300}}, Box{{10, 1}, {190, 299}}),
          std::pair(Box{{5}, {100'000}}, Box{{100}, {50'000}})}) {
        const auto values = noisy<double>(array.extent, 0.1);
        std::vector<double> copy(part.extent.count());
        copy_box(part, array, reinterpret_cast<const std::byte*>(values.data()), part,
                 reinterpret_cast<std::byte*>(copy.data()), sizeof(double));
        const auto there = glance(values, array, part, absolute(1e-3));
        ASSERT_TRUE(there);
        EXPECT_GT(*there, 0.0);
        EXPECT_EQ(there, glance(copy, part, part, absolute(1e-3))) << to_string(part);
    }
}

TEST(Glance, grows_with_what_goes_on_and_with_the_bounds_fineness) {
    const Box box{{0, 0, 0}, {64, 64, 64}};
    double last = -1.0;
    for (const double strength : {0.0, 0.01, 0.1, 1.0}) {
        const auto seen = glance(noisy<float>(box.extent, strength), box, box, absolute(0.01));
        ASSERT_TRUE(seen);
        EXPECT_GT(*seen, last);
        last = *seen;
    }
    const auto field = noisy<float>(box.extent, 0.1);
    const auto coarse = glance(field, box, box, absolute(0.01));
    const auto fine = glance(field, box, box, absolute(0.01 / 16));
    EXPECT_NEAR(*fine - *coarse, 4.0, 0.5) << "four bits more";
    EXPECT_EQ(glance(std::vector<float>(box.extent.count(), 3.0f), box, box, absolute(0.01)), 0.0);
}

TEST(Glance, says_nothing_where_it_would_mislead) {
    const Box box{{0, 0, 0}, {32, 32, 32}};
    const auto field = noisy<float>(box.extent, 0.1);
    for (const ErrorBound& bound : {lossless(), relative(1e-3), pointwise_relative(1e-3),
                                    psnr(60.0), absolute(-1.0), absolute(std::nan(""))})
        EXPECT_FALSE(glance(field, box, box, bound)) << static_cast<int>(bound.kind);
    for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        auto with_odd = field;
        std::fill(with_odd.begin() + 8 * 1024, with_odd.begin() + 16 * 1024, odd);
        EXPECT_FALSE(glance(with_odd, box, box, absolute(0.01)));
    }
    // Values of which no row lies whole in memory.
    const Box columns{{0, 0, 5}, {32, 32, 1}};
    EXPECT_FALSE(glance(field, box, columns, absolute(0.01)));
}

}  // namespace
}  // namespace caesura::predict
