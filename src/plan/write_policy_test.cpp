#include "plan/write_policy.hpp"

#include <gtest/gtest.h>

namespace caesura::plan {
namespace {

constexpr double MB = 1e6;

// 100 MB/s and 1 ms a write.
WriteView write_view(std::span<const Interval> obstacles, std::span<const double> ready) {
    WriteView view;
    view.gap = gap_before_next(obstacles, 0.0);
    view.ready_bytes = ready;
    view.cost = {1e-3, 100e6};
    view.patience_s = 10.0;
    return view;
}

TEST(WritePolicy, writes_as_many_blocks_as_fit_before_the_next_obstacle) {
    const Interval obstacles[] = {{0.1, 0.2}};
    const double ready[] = {4 * MB, 4 * MB, 4 * MB};
    // 99 ms of writing are 9.9 MB: two blocks.
    EXPECT_EQ(decide_write(write_view(obstacles, ready)).take, 2u);
}

TEST(WritePolicy, waits_for_the_end_of_an_obstacle_that_leaves_no_room) {
    const Interval obstacles[] = {{0.01, 0.2}};
    const double ready[] = {4 * MB};
    const WriteDecision decision = decide_write(write_view(obstacles, ready));
    EXPECT_EQ(decision.take, 0u);
    EXPECT_DOUBLE_EQ(decision.wait_until_s, 0.2);
}

TEST(WritePolicy, never_writes_while_the_application_does) {
    const double ready[] = {4 * MB};
    WriteView view = write_view({}, ready);
    view.application_writes = true;
    view.oldest_wait_s = 100.0;
    EXPECT_EQ(decide_write(view).take, 0u);
    EXPECT_LT(decide_write(view).wait_until_s, 0.0);  // the end of the mark is an event
}

TEST(WritePolicy, writes_at_once_when_somebody_waits_or_planning_is_off) {
    const Interval obstacles[] = {{0.0, 5.0}};
    const double ready[] = {4 * MB, 4 * MB};
    WriteView view = write_view(obstacles, ready);
    view.application_writes = true;
    view.draining = true;
    EXPECT_EQ(decide_write(view).take, 2u);
    view.draining = false;
    view.planning = false;
    EXPECT_EQ(decide_write(view).take, 2u);
}

TEST(WritePolicy, a_small_write_waits_for_company_until_all_have_come) {
    const double ready[] = {100'000};
    WriteView view = write_view({}, ready);
    view.more_coming = true;
    EXPECT_EQ(decide_write(view).take, 0u);
    view.more_coming = false;
    EXPECT_EQ(decide_write(view).take, 1u);
}

TEST(WritePolicy, a_small_write_does_not_wait_when_the_gap_would_be_lost) {
    const Interval obstacles[] = {{0.01, 0.2}};
    const double ready[] = {100'000};
    WriteView view = write_view(obstacles, ready);
    view.more_coming = true;
    EXPECT_EQ(decide_write(view).take, 1u);
}

TEST(WritePolicy, a_block_that_fits_no_gap_is_written_when_patience_ends) {
    const Interval obstacles[] = {{0.01, 0.2}, {0.21, 0.4}};
    const double ready[] = {40 * MB};
    WriteView view = write_view(obstacles, ready);
    EXPECT_EQ(decide_write(view).take, 0u);
    view.oldest_wait_s = 11.0;
    EXPECT_EQ(decide_write(view).take, 1u);
}

TEST(WritePolicy, a_block_that_fits_goes_before_one_that_has_to_wait) {
    const Interval obstacles[] = {{0.05, 0.2}};
    const double ready[] = {40 * MB, 1 * MB, 2 * MB, 3 * MB};
    // 49 ms of writing are 4.9 MB: the second and the third.
    const WriteDecision decision = decide_write(write_view(obstacles, ready));
    EXPECT_EQ(decision.first, 1u);
    EXPECT_EQ(decision.take, 2u);
}

TEST(WritePolicy, in_order_nothing_goes_before_a_block_that_has_to_wait) {
    const Interval obstacles[] = {{0.05, 0.2}};
    const double ready[] = {40 * MB, 1 * MB};
    WriteView view = write_view(obstacles, ready);
    view.in_order = true;
    EXPECT_EQ(decide_write(view).take, 0u);
    EXPECT_DOUBLE_EQ(decide_write(view).wait_until_s, 0.2);
}

TEST(WritePolicy, gathers_no_more_than_the_buffer) {
    const double ready[] = {8 * MB, 8 * MB, 8 * MB};
    WriteView view = write_view({}, ready);
    view.buffer_bytes = 20 * MB;
    EXPECT_EQ(decide_write(view).take, 2u);
}

}  // namespace
}  // namespace caesura::plan
