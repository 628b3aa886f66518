// Goal: the median of any number of values in any order.
#include "base/median.hpp"

#include <gtest/gtest.h>

namespace caesura::base {
namespace {

TEST(Median, is_the_middle_one_or_the_mean_of_both) {
    EXPECT_EQ(median({3.0, 1.0, 2.0}), 2.0);
    EXPECT_EQ(median({4.0, 1.0, 2.0, 3.0}), 2.5);
    EXPECT_EQ(median({7.0}), 7.0);
    EXPECT_EQ(median({}), 0.0);
}

}  // namespace
}  // namespace caesura::base
