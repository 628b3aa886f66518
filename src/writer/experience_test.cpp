// Goal: what is usual follows the application, and never below what a user would call soon.
#include "writer/experience.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace caesura::writer {
namespace {

TEST(Experience, data_are_due_after_10_s_or_two_intervals_whichever_is_longer) {
    Experience experience;
    EXPECT_EQ(experience.max_delay_s(0.0, 100.0), 10.0) << "the first dump has no interval";
    EXPECT_EQ(experience.max_delay_s(0.0, 101.0), 10.0);
    EXPECT_EQ(experience.max_delay_s(0.0, 106.0), 10.0) << "two intervals of 5 s";
    EXPECT_EQ(experience.max_delay_s(0.0, 112.0), 12.0);
    EXPECT_EQ(experience.max_delay_s(0.0, 172.0), 120.0);
    EXPECT_EQ(experience.max_delay_s(0.0, 173.0), 10.0) << "of the last interval alone";
}

TEST(Experience, what_the_user_says_counts_and_intervals_go_on) {
    Experience experience;
    EXPECT_EQ(experience.max_delay_s(0.5, 0.0), 0.5);
    EXPECT_EQ(experience.max_delay_s(3.0, 50.0), 3.0) << "shorter than what is usual";
    EXPECT_EQ(experience.max_delay_s(0.0, 80.0), 60.0)
        << "by the dump before, whatever it was given";
    EXPECT_TRUE(std::isinf(experience.max_delay_s(std::numeric_limits<double>::infinity(), 90.0)));
}

}  // namespace
}  // namespace caesura::writer
