// Goal: values that rise, or fall, from each to the next are told from all others, however they are
// cut into stretches.
#include "writer/value_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace caesura::writer {
namespace {

template <class T>
ValueOrder order_of(std::span<const T> values, DType dtype) {
    ValueOrder order;
    order.add(std::as_bytes(values).data(), values.size(), dtype);
    return order;
}

bool holds(const std::vector<double>& values) { return order_of<double>(values, float64).holds(); }

TEST(ValueOrder, of_values_that_rise_or_fall_holds) {
    EXPECT_TRUE(holds({}));
    EXPECT_TRUE(holds({1}));
    EXPECT_TRUE(holds({1, 2, 3}));
    EXPECT_TRUE(holds({3, 2, -1}));
    EXPECT_FALSE(holds({1, 2, 1}));
    EXPECT_FALSE(holds({1, 1, 2}));  // a field that is constant in places
    EXPECT_FALSE(holds({1, std::nan(""), 2}));
    const std::vector<float> singles = {1.0F, 1.0F + 0x1p-23F};
    EXPECT_TRUE(order_of<float>(singles, float32).holds());
}

// Goal: the answer for a sequence is the same, in whatever stretches it is looked at.
TEST(ValueOrder, does_not_depend_on_stretches) {
    constexpr unsigned k_seed = 41;
    SCOPED_TRACE("seed " + std::to_string(k_seed));
    std::mt19937 random(k_seed);
    for (int round = 0; round < 500; ++round) {
        std::vector<double> values(1 + random() % 12);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
        if (random() % 2 == 0)
            values[random() % values.size()] = static_cast<double>(random() % 12);
        if (random() % 2 == 0) std::reverse(values.begin(), values.end());
        ValueOrder all;
        for (std::size_t at = 0; at < values.size();) {
            const std::size_t n = random() % (values.size() - at + 1);
            all.add(order_of(std::span<const double>(values).subspan(at, n), float64));
            at += n;
        }
        EXPECT_EQ(all.holds(), holds(values));
    }
}

// Goal: of stretches that lie apart, both must rise or both fall.
TEST(ValueOrder, of_others_is_one_with_its_own) {
    const std::vector<double> rising = {1, 2}, falling = {2, 1}, one = {7};
    ValueOrder order = order_of<double>(rising, float64);
    order.join(order_of<double>(rising, float64));
    order.join(order_of<double>(one, float64));
    EXPECT_TRUE(order.holds());
    order.join(order_of<double>(falling, float64));
    EXPECT_FALSE(order.holds());
}

}  // namespace
}  // namespace caesura::writer
