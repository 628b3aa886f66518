#include "plan/compress_policy.hpp"

#include <gtest/gtest.h>

namespace caesura::plan {
namespace {

CompressView compress_view(std::span<const Interval> obstacles,
                           std::span<const double> expected_s) {
    CompressView view;
    view.gap = gap_before_next(obstacles, view.now_s);
    view.patience_ends_s = 1.0;
    view.expected_s = expected_s;
    return view;
}

TEST(CompressPolicy, begins_the_first_job_that_ends_before_the_application_needs_the_core) {
    const Interval obstacles[] = {{1.0, 2.0}};
    const double jobs[] = {1.5, 0.75, 0.25};
    EXPECT_EQ(decide_compress(compress_view(obstacles, jobs)).begin, 1u);
    const double fits[] = {1.0};  // to the very end
    EXPECT_EQ(decide_compress(compress_view(obstacles, fits)).begin, 0u);
}

TEST(CompressPolicy, waits_for_the_end_of_an_obstacle_that_leaves_no_room) {
    const Interval obstacles[] = {{0.1, 0.2}, {0.3, 0.4}};
    const double jobs[] = {0.5};
    const CompressDecision decision = decide_compress(compress_view(obstacles, jobs));
    EXPECT_FALSE(decision.begin);
    EXPECT_DOUBLE_EQ(decision.wait_until_s, 0.2);
}

TEST(CompressPolicy, never_begins_while_the_application_computes) {
    const double jobs[] = {0.001};
    CompressView view = compress_view({}, jobs);
    view.application_computes = true;
    view.now_s = 100.0;
    EXPECT_FALSE(decide_compress(view).begin);
    EXPECT_LT(decide_compress(view).wait_until_s, 0.0);  // the end of the mark is an event
}

TEST(CompressPolicy, an_obstacle_that_is_due_is_respected_until_its_expected_end) {
    const Interval obstacles[] = {{-0.1, 0.2}};
    const double jobs[] = {0.05};
    CompressView view = compress_view(obstacles, jobs);
    EXPECT_DOUBLE_EQ(decide_compress(view).wait_until_s, 0.2);
    view.now_s = 0.2;
    view.gap = gap_before_next(obstacles, view.now_s);
    EXPECT_EQ(decide_compress(view).begin, 0u);
}

TEST(CompressPolicy, a_job_that_fits_no_gap_is_begun_when_patience_ends) {
    const Interval obstacles[] = {{0.1, 0.2}};
    const double jobs[] = {5.0};
    CompressView view = compress_view(obstacles, jobs);
    EXPECT_FALSE(decide_compress(view).begin);
    view.now_s = 1.0;
    EXPECT_EQ(decide_compress(view).begin, 0u);
}

}  // namespace
}  // namespace caesura::plan
