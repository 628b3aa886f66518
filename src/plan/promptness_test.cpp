// Goal: what pauses will do is left to them, and nothing else waits.
#include "plan/promptness.hpp"

#include <gtest/gtest.h>

namespace caesura::plan {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

PromptView view(double work_s, double interval_s, double pauses) {
    return {work_s, interval_s, pauses, 2.0 * interval_s};
}

TEST(Promptness, without_pauses_everything_is_begun_at_once) {
    const Promptness prompt = promptness(view(3.0, 10.0, 0.0));
    EXPECT_EQ(take_over_s(prompt, 3.0), 0.0);
    EXPECT_EQ(take_over_s(prompt, 0.001), 0.0);
    EXPECT_EQ(take_over_s(prompt, 0.0), k_infinity) << "nothing is left";
}

TEST(Promptness, the_first_dump_waits_for_half_a_second) {
    EXPECT_EQ(take_over_s(promptness(view(3.0, k_infinity, 0.7)), 3.0), 0.5);
    EXPECT_EQ(take_over_s(promptness(view(3.0, 10.0, -1.0)), 3.0), 0.5) << "pauses are not known";
    EXPECT_EQ(take_over_s(promptness({3.0, k_infinity, -1.0, 0.1}), 3.0), 0.1)
        << "or for as long as was promised";
}

TEST(Promptness, what_pauses_do_before_the_next_dump_is_left_to_them) {
    const Promptness prompt = promptness(view(3.0, 10.0, 0.5));
    EXPECT_EQ(prompt.by_s, 10.0);
    EXPECT_DOUBLE_EQ(take_over_s(prompt, 3.0), 10.0 - 3.0 / 0.5);
    EXPECT_DOUBLE_EQ(take_over_s(prompt, 1.0), 8.0) << "they come, and less is left";
}

TEST(Promptness, of_work_beyond_the_pauses_the_difference_is_begun_at_once) {
    const Promptness prompt = promptness(view(3.0, 10.0, 0.2));
    EXPECT_EQ(take_over_s(prompt, 3.0), 0.0);
    EXPECT_EQ(take_over_s(prompt, 1.01), 0.0);
    EXPECT_GT(take_over_s(prompt, 0.99), 0.0) << "the rest is for the pauses";
}

TEST(Promptness, what_costs_little_waits_for_half_of_an_interval) {
    const Promptness prompt = promptness(view(0.09, 10.0, 0.5));
    EXPECT_DOUBLE_EQ(take_over_s(prompt, 0.09), 5.0 - 0.09 / 0.5);
}

TEST(Promptness, the_promise_is_the_outer_limit) {
    EXPECT_EQ(promptness({3.0, 100.0, 0.5, 8.0}).by_s, 8.0);
    EXPECT_EQ(take_over_s(Promptness{}, 1.0), k_infinity) << "nothing was said of it";
}

}  // namespace
}  // namespace caesura::plan
