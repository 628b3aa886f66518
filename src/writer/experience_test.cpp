// Goal: what is usual follows the application, and never below what a user would call soon.
#include "writer/experience.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace caesura::writer {
namespace {

double delay_s(Experience& experience, double asked_s, double now_s) {
    return experience.hand_over(asked_s, now_s, std::nullopt).max_delay_s;
}

TEST(Experience, data_are_due_after_10_s_or_two_intervals_whichever_is_longer) {
    Experience experience;
    EXPECT_EQ(delay_s(experience, 0.0, 100.0), 10.0) << "the first dump has no interval";
    EXPECT_EQ(delay_s(experience, 0.0, 101.0), 10.0);
    EXPECT_EQ(delay_s(experience, 0.0, 106.0), 10.0) << "two intervals of 5 s";
    EXPECT_EQ(delay_s(experience, 0.0, 112.0), 12.0);
    EXPECT_EQ(delay_s(experience, 0.0, 172.0), 120.0);
    EXPECT_EQ(delay_s(experience, 0.0, 173.0), 10.0) << "of the last interval alone";
}

TEST(Experience, what_the_user_says_counts_and_intervals_go_on) {
    Experience experience;
    EXPECT_EQ(delay_s(experience, 0.5, 0.0), 0.5);
    EXPECT_EQ(delay_s(experience, 3.0, 50.0), 3.0) << "shorter than what is usual";
    EXPECT_EQ(delay_s(experience, 0.0, 80.0), 60.0) << "by the dump before, whatever it was given";
    EXPECT_TRUE(std::isinf(delay_s(experience, std::numeric_limits<double>::infinity(), 90.0)));
}

// Goal: how much of a core the application leaves is seen from one dump to the next.
TEST(Experience, pauses_are_the_time_that_was_left_since_the_dump_before) {
    Experience experience;
    EXPECT_LT(experience.hand_over(0.0, 10.0, 3.0).pauses, 0.0) << "the first dump knows nothing";
    EXPECT_DOUBLE_EQ(experience.hand_over(0.0, 20.0, 5.0).pauses, 0.2);
    EXPECT_DOUBLE_EQ(experience.hand_over(0.0, 30.0, 10.0).pauses, (2 * 0.5 + 0.2) / 3)
        << "the newest counts most";
    EXPECT_LT(experience.hand_over(0.0, 40.0, std::nullopt).pauses, 0.0);
}

TEST(Experience, two_dumps_in_a_row_have_the_interval_and_the_pauses_of_the_row) {
    Experience experience;
    (void)experience.hand_over(0.0, 0.0, 0.0);
    (void)experience.hand_over(0.0, 10.0, 5.0);
    const auto second = experience.hand_over(0.0, 10.01, 5.01);
    EXPECT_DOUBLE_EQ(second.pauses, 0.5) << "a hundredth of a second says nothing";
    EXPECT_DOUBLE_EQ(second.interval_s, 5.0);
    EXPECT_DOUBLE_EQ(experience.hand_over(0.0, 20.0, 10.0).interval_s, 9.99);
}

}  // namespace
}  // namespace caesura::writer
