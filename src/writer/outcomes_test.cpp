// Goal: what is reported as planned and as happened is the same quantity, of the same dumps.
#include "writer/outcomes.hpp"

#include <gtest/gtest.h>

namespace caesura::writer {
namespace {

TEST(Outcomes, an_iteration_lasts_until_the_application_and_the_lanes_are_done) {
    Outcomes outcomes;
    outcomes.submitted(0);
    outcomes.iteration_began(10.0);
    outcomes.dump_ended(0, 4.0, 15.0, 15.5);  // planned to take 5 s, took 5.5
    EXPECT_EQ(outcomes.dumps(), 0u) << "the iteration is not over";
    outcomes.iteration_ended(14.2);
    EXPECT_EQ(outcomes.dumps(), 1u);
    EXPECT_DOUBLE_EQ(outcomes.planned_end_s(), 5.0);
    EXPECT_DOUBLE_EQ(outcomes.actual_end_s(), 5.5);
    EXPECT_DOUBLE_EQ(outcomes.planned_iteration_s(), 5.0);
    EXPECT_DOUBLE_EQ(outcomes.actual_iteration_s(), 5.5);
    EXPECT_NEAR(outcomes.deviation(), 0.1, 1e-12);
}

TEST(Outcomes, a_dump_that_ends_iterations_later_belongs_to_the_one_after_it) {
    Outcomes outcomes;
    outcomes.submitted(0);
    outcomes.iteration_began(10.0);
    outcomes.iteration_ended(14.0);
    outcomes.submitted(1);
    outcomes.iteration_began(14.0);
    outcomes.iteration_ended(18.0);
    outcomes.dump_ended(0, 4.0, 20.0, 20.0);
    outcomes.dump_ended(1, 4.0, 16.0, 16.0);
    EXPECT_EQ(outcomes.dumps(), 2u);
    EXPECT_DOUBLE_EQ(outcomes.planned_iteration_s(), 10.0 + 4.0);
    EXPECT_DOUBLE_EQ(outcomes.actual_iteration_s(), 10.0 + 4.0);
    EXPECT_DOUBLE_EQ(outcomes.deviation(), 0.0);
}

TEST(Outcomes, what_nothing_was_expected_of_or_never_came_does_not_count) {
    Outcomes outcomes;
    outcomes.submitted(0);
    outcomes.iteration_began(0.0);
    outcomes.dump_ended(0, 0.0, 1.0, 2.0);  // the first iteration
    outcomes.iteration_ended(3.0);
    outcomes.submitted(1);
    outcomes.dump_ended(1, 3.0, 4.0, 5.0);  // closed: no iteration follows
    EXPECT_EQ(outcomes.dumps(), 0u);
    EXPECT_EQ(outcomes.deviation(), 0.0);
}

TEST(Outcomes, the_deviation_is_the_median) {
    Outcomes outcomes;
    const double actual_s[] = {1.0, 1.5, 1.1};
    for (std::uint64_t dump = 0; dump < 3; ++dump) {
        outcomes.submitted(dump);
        outcomes.iteration_began(0.0);
        outcomes.dump_ended(dump, 1.0, 0.5, 0.5);
        outcomes.iteration_ended(actual_s[dump]);
    }
    EXPECT_NEAR(outcomes.deviation(), 0.1, 1e-12);
}

}  // namespace
}  // namespace caesura::writer
