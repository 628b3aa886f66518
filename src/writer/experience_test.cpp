// Goal: what is usual follows the application, and never below what a user would call soon.
#include "writer/experience.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace caesura::writer {
namespace {

double delay_s(Experience& experience, double asked_s, double now_s) {
    return experience
        .hand_over(
            asked_s, now_s, [] { return std::nullopt; }, 1.0)
        .max_delay_s;
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

Experience::HandOver with_pauses(Experience& experience, double now_s, double pauses_s) {
    return experience.hand_over(
        0.0, now_s, [&] { return std::optional(pauses_s); }, 1.0);
}

// Goal: how much of a core the application leaves is seen from one dump to the next.
TEST(Experience, pauses_are_the_time_that_was_left_since_the_dump_before) {
    Experience experience;
    EXPECT_LT(with_pauses(experience, 10.0, 3.0).pauses, 0.0) << "the first dump knows nothing";
    EXPECT_DOUBLE_EQ(with_pauses(experience, 20.0, 5.0).pauses, 0.2);
    EXPECT_DOUBLE_EQ(with_pauses(experience, 30.0, 10.0).pauses, (2 * 0.5 + 0.2) / 3)
        << "the newest counts most";
    EXPECT_LT(with_pauses(experience, 40.0, 500.0).pauses, 0.0) << "other cores are counted now";
    EXPECT_DOUBLE_EQ(with_pauses(experience, 50.0, 501.0).pauses, 0.1);
    EXPECT_LT(with_pauses(experience, 60.0, 20.0).pauses, 0.0) << "and others again";
    EXPECT_LT(experience
                  .hand_over(
                      0.0, 70.0, [] { return std::nullopt; }, 1.0)
                  .pauses,
              0.0);
}

TEST(Experience, dumps_of_one_time_step_have_the_interval_and_the_pauses_of_steps) {
    Experience experience;
    for (int step = 0; step < 4; ++step)
        for (int file = 0; file < 8; ++file) {
            const double now_s = 10.0 * step + 0.02 * file;
            const auto known = with_pauses(experience, now_s, 0.5 * now_s);
            if (step < 2) continue;
            EXPECT_DOUBLE_EQ(known.interval_s, 10.0) << step << " " << file;
            EXPECT_NEAR(known.pauses, 0.5, 1e-9) << step << " " << file;
        }
    // Dumps come twenty times as often from now on.
    double interval_s = 0.0;
    for (int dump = 0; dump < 6; ++dump)
        interval_s = with_pauses(experience, 40.0 + 0.5 * dump, 20.0 + 0.25 * dump).interval_s;
    EXPECT_DOUBLE_EQ(interval_s, 0.5);
}

}  // namespace
}  // namespace caesura::writer
