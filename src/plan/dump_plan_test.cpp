// Goal: what is left of a dump is planned as the rules say, from now on, around what is expected;
// and a plan is made again when, and only when, reality has left it.
#include "plan/dump_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace caesura::plan {
namespace {

using JobOrder = std::vector<std::uint32_t>;

DumpPlan& planned(DumpPlan& plan, const PlanningView& view) {
    plan.resize(view.jobs.size());
    EXPECT_TRUE(make_plan(view, plan).ok());
    return plan;
}

TEST(Planning, without_obstacles_johnsons_order_begins_now) {
    const JobLeft jobs[] = {{3.0, 1.0}, {1.0, 3.0}};
    PlanningView view;
    view.now_s = 100.0;
    view.jobs = jobs;
    DumpPlan plan;
    planned(plan, view);
    EXPECT_EQ(plan.compress_order, (JobOrder{1, 0}));
    EXPECT_EQ(plan.write_order, (JobOrder{1, 0}));
    EXPECT_DOUBLE_EQ(plan.times[1].compress_begin_s, 100.0);
    EXPECT_DOUBLE_EQ(plan.times[1].write_end_s, 104.0);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 104.0);
    EXPECT_DOUBLE_EQ(plan.end_s, 105.0);
    EXPECT_DOUBLE_EQ(plan.made_s, 100.0);
}

TEST(Planning, obstacles_suspend_a_resumable_compression_and_exclude_another) {
    const JobLeft jobs[] = {{2.0, 1.0}};
    PlanningView view;
    view.now_s = 10.0;
    view.jobs = jobs;
    view.expected.obstacles.compress = {{9.0, 9.5}, {11.0, 12.0}};  // the first is over
    DumpPlan plan;
    planned(plan, view);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 12.0);
    EXPECT_DOUBLE_EQ(plan.end_s, 15.0);
    view.rules.resumable = true;
    planned(plan, view);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 10.0);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 13.0);
    EXPECT_DOUBLE_EQ(plan.end_s, 14.0);
}

TEST(Planning, what_is_compressed_only_has_to_be_written_and_what_is_written_comes_last) {
    const JobLeft jobs[] = {{0.0, 1.0, true}, {2.0, 1.0}, {0.0, 4.0}, {0.0, 2.0, true}};
    PlanningView view;
    view.jobs = jobs;
    DumpPlan plan;
    planned(plan, view);
    EXPECT_EQ(plan.compress_order, (JobOrder{2, 1, 0, 3}));
    EXPECT_EQ(plan.write_order, (JobOrder{2, 1, 0, 3}));
    EXPECT_FALSE(plan.times[0].planned);
    EXPECT_TRUE(plan.times[2].planned);
    EXPECT_DOUBLE_EQ(plan.times[2].write_begin_s, 0.0);
    EXPECT_DOUBLE_EQ(plan.end_s, 5.0);
}

TEST(Planning, dumps_that_are_still_under_way_come_first) {
    const JobLeft jobs[] = {{1.0, 1.0}};
    PlanningView view;
    view.jobs = jobs;
    view.expected.obstacles.compress = {{2.0, 3.0}};
    view.compress_ahead_s = 3.0;  // 0 to 2 and 3 to 4
    view.write_ahead_s = 6.0;
    DumpPlan plan;
    planned(plan, view);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 4.0);
    EXPECT_DOUBLE_EQ(plan.times[0].write_begin_s, 6.0);
}

TEST(Planning, workers_with_cores_of_their_own_know_no_compress_obstacles) {
    const JobLeft jobs[] = {{2.0, 1.0}};
    PlanningView view;
    view.jobs = jobs;
    view.expected.obstacles.compress = {{0.0, 5.0}};
    view.rates = {0.8, 0.8};
    DumpPlan plan;
    EXPECT_DOUBLE_EQ(planned(plan, view).times[0].compress_end_s, 2.5);
    view.rates = {0.8, 0.02};
    EXPECT_DOUBLE_EQ(planned(plan, view).times[0].compress_end_s, 7.5);
}

// The application computes without end, as far as anybody expects.
PlanningView starved(std::span<const JobLeft> jobs) {
    PlanningView view;
    view.now_s = 100.0;
    view.jobs = jobs;
    view.rules.resumable = true;
    view.expected.obstacles.compress = {{90.0, 1000.0}};
    view.expected.obstacles.write = {{90.0, 1000.0}};
    view.standby.begin_s = 106.0;
    return view;
}

TEST(PlanningStandby, what_no_worker_gets_time_for_is_planned_for_the_standby_thread) {
    const JobLeft jobs[] = {{0.5, 0.25}, {0.25, 0.5}, {0.0, 0.125}};
    DumpPlan plan;
    planned(plan, starved(jobs));
    EXPECT_EQ(plan.compress_order, (JobOrder{2, 1, 0}));
    EXPECT_DOUBLE_EQ(plan.times[2].write_begin_s, 106.0) << "compressed, and in no obstacle now";
    EXPECT_DOUBLE_EQ(plan.times[1].compress_begin_s, 106.0);
    EXPECT_DOUBLE_EQ(plan.times[1].compress_end_s, 106.5) << "at half a core";
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 107.5);
    EXPECT_DOUBLE_EQ(plan.times[1].write_begin_s, 106.5);
    EXPECT_DOUBLE_EQ(plan.end_s, 107.75);
    for (const TaskTimes& times : plan.times) EXPECT_TRUE(times.planned);
}

TEST(PlanningStandby, what_is_under_way_when_it_begins_goes_on_quicker) {
    const JobLeft jobs[] = {{4.0, 1.0}};
    PlanningView view = starved(jobs);
    view.expected.obstacles.compress = {{102.0, 103.0}, {108.0, 1000.0}};
    view.rates.free = 0.25;
    DumpPlan plan;
    planned(plan, view);
    // 0.5 until 102, 0.75 until 106, 1.5 until 108, and the rest beside the application.
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 100.0);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 108.0 + (4.0 - 0.5 - 0.75 - 1.5) / 0.5);
    view.rates = {1.0, 0.75};  // a core of its own
    EXPECT_DOUBLE_EQ(planned(plan, view).times[0].compress_end_s, 100.0 + 4.0 / 0.75);
    const JobLeft longer[] = {{6.0, 1.0}};
    view.jobs = longer;
    EXPECT_DOUBLE_EQ(planned(plan, view).times[0].compress_end_s, 106.0 + (6.0 - 4.5) / 1.25);
}

TEST(PlanningStandby, dumps_before_it_are_done_first) {
    const JobLeft jobs[] = {{1.0, 0.5}};
    PlanningView view = starved(jobs);
    view.compress_ahead_s = 2.0;
    view.write_ahead_s = 8.0;
    DumpPlan plan;
    planned(plan, view);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 110.0);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 112.0);
    EXPECT_DOUBLE_EQ(plan.times[0].write_begin_s, 114.0);
    view.standby.begin_s = 99.0;  // it is there
    planned(plan, view);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_begin_s, 104.0);
    EXPECT_DOUBLE_EQ(plan.times[0].compress_end_s, 106.0);
    EXPECT_DOUBLE_EQ(plan.times[0].write_begin_s, 108.0);
}

// Goal: whatever is expected, a plan keeps the promise that the standby thread can keep, and is
// another one only where the workers could not.
TEST(PlanningStandby, no_plan_ends_after_what_was_promised_and_none_changes_that_ended_in_time) {
    std::mt19937 random{17};
    std::uniform_real_distribution<double> any(0.0, 1.0);
    int late = 0, same = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<JobLeft> jobs(1 + round % 9);
        for (JobLeft& job : jobs)
            job = {any(random) < 0.3 ? 0.0 : any(random), any(random), any(random) < 0.2};
        PlanningView view;
        view.now_s = 50.0;
        view.jobs = jobs;
        view.rules.resumable = round % 3 != 0;
        view.rules.search_steps = 200;
        if (round % 5 == 0) view.algorithm = Algorithm::search;
        view.rates = {0.05 + 0.95 * any(random), round % 7 == 0 ? 0.9 : 0.0};
        view.compress_ahead_s = round % 2 * any(random);
        view.write_ahead_s = round % 2 * any(random);
        for (auto* lane : {&view.expected.obstacles.compress, &view.expected.obstacles.write}) {
            double at_s = 48.0;
            for (int i = 0; i < 5; ++i) {
                const double begin_s = at_s += 2.0 * any(random);
                lane->push_back({begin_s, at_s += 6.0 * any(random)});
            }
        }
        DueWork work;
        work.left_s = view.compress_ahead_s + view.write_ahead_s;
        for (const JobLeft& job : jobs)
            if (!job.written) work.left_s += job.compress_s + job.write_s;
        const double max_delay_s = 2.5 * work.left_s + 10.0 * any(random);
        const double due_s = view.now_s + max_delay_s;
        work.by_s = done_by_s(due_s, max_delay_s);
        DumpPlan without, with;
        planned(without, view);
        view.standby.begin_s = turn_of(std::span(&work, 1), work).begin_s;
        ASSERT_GE(view.standby.begin_s, view.now_s - 1e-9);
        planned(with, view);
        EXPECT_LE(with.end_s, due_s) << round;
        if (without.end_s <= view.standby.begin_s) {
            ++same;
            EXPECT_EQ(with.compress_order, without.compress_order);
            EXPECT_EQ(with.write_order, without.write_order);
            EXPECT_EQ(with.end_s, without.end_s);
        }
        late += without.end_s > due_s;
        double compress_end_s = view.now_s, write_end_s = view.now_s, last_s = view.now_s;
        for (const std::uint32_t i : with.compress_order) {
            if (!with.times[i].planned) continue;
            EXPECT_GE(with.times[i].compress_begin_s, compress_end_s - 1e-9);
            compress_end_s = with.times[i].compress_end_s;
        }
        for (const std::uint32_t i : with.write_order) {
            if (!with.times[i].planned) continue;
            EXPECT_GE(with.times[i].write_begin_s,
                      std::max(write_end_s, with.times[i].compress_end_s) - 1e-9);
            last_s = write_end_s = with.times[i].write_end_s;
        }
        EXPECT_LE(last_s, with.end_s + 1e-9);
    }
    EXPECT_GT(late, 200) << "of 2000 without the standby thread";
    EXPECT_GT(same, 100);
}

// Goal: a search where it can matter, and only there. Two small jobs fill the first gap if the one
// in between goes elsewhere, which no simple order does.
TEST(Planning, searches_only_where_the_lanes_may_outlast_the_iteration) {
    const JobLeft jobs[] = {{0.0, 2.0}, {0.0, 3.0}, {0.0, 3.0}, {0.0, 2.0}, {0.0, 4.0}};
    PlanningView view;
    view.jobs = jobs;
    view.expected.obstacles.write = {{6.0, 7.0}, {13.0, 14.0}, {15.0, 16.0}};
    DumpPlan quick, searched, ample, tight;
    planned(quick, view);
    view.algorithm = Algorithm::search;
    planned(searched, view);
    ASSERT_LT(searched.end_s, quick.end_s);
    view.now_s = 100.0;
    for (Interval& o : view.expected.obstacles.write) o = {o.begin_s + 100, o.end_s + 100};
    view.expected.begin_s = 95.0;
    view.expected.length_s = 5.0 + quick.end_s / 0.75 + 0.1;
    EXPECT_DOUBLE_EQ(planned(ample, view).end_s, 100.0 + quick.end_s);
    view.expected.length_s -= 0.2;
    EXPECT_DOUBLE_EQ(planned(tight, view).end_s, 100.0 + searched.end_s);
}

// Goal: two writes that fill a gap exactly are the best plan and, where durations are uncertain,
// the worst bet.
TEST(Planning, spreads_of_durations_make_the_plan_robust) {
    JobLeft jobs[] = {{0.0, 1.0}, {0.0, 1.0}, {0.0, 1.6}};
    PlanningView view;
    view.jobs = jobs;
    view.algorithm = Algorithm::search;
    view.rules.robust = true;
    view.expected.obstacles.write = {{2.0, 6.0}};
    DumpPlan plan;
    EXPECT_DOUBLE_EQ(planned(plan, view).times[2].write_begin_s, 6.0) << "no spread is known";
    for (JobLeft& job : jobs) job.write_spread_s = 0.2 * job.write_s;
    EXPECT_DOUBLE_EQ(planned(plan, view).times[2].write_begin_s, 0.0);
}

// Goal: planning a dump of thousands of blocks takes no longer because their spreads are known.
TEST(Planning, plans_of_very_many_blocks_are_not_robust) {
    std::mt19937 random{5};
    std::uniform_real_distribution<double> seconds(0.5, 1.5);
    std::vector<JobLeft> jobs(1001);
    for (JobLeft& job : jobs) {
        job = {seconds(random), seconds(random)};
        job.compress_spread_s = job.write_spread_s = 0.3;
    }
    PlanningView view;
    view.algorithm = Algorithm::search;
    view.rules.search_steps = 2000;
    for (int i = 0; i < 100; ++i)
        view.expected.obstacles.write.push_back({10.0 * i + 8.0, 10.0 * i + 10.0});
    for (const std::size_t n : {1000u, 1001u}) {
        view.jobs = std::span(jobs).first(n);
        DumpPlan robust, plain;
        view.rules.robust = true;
        planned(robust, view);
        view.rules.robust = false;
        EXPECT_EQ(planned(plain, view).write_order == robust.write_order, n > 1000) << n;
    }
}

TEST(Planning, how_far_tasks_are_off_is_learned) {
    double square = 0.0;
    for (int i = 0; i < 200; ++i) square = square_after(square, i % 2 ? 1.1 : 0.9, 1.0);
    EXPECT_NEAR(std::sqrt(square), 0.1, 1e-6);
    EXPECT_DOUBLE_EQ(square_after(square, 3.0, 0.0), square) << "nothing was expected";
    EXPECT_DOUBLE_EQ(square_after(0.0, 50.0, 1.0), 1.0 / 16) << "bounded";
}

TEST(Planning, a_lanes_time_is_found_around_its_obstacles) {
    const Interval obstacles[] = {{1.0, 2.0}, {4.0, 5.0}};
    EXPECT_DOUBLE_EQ(busy_until_s(obstacles, 0.0), 0.0);
    EXPECT_DOUBLE_EQ(busy_until_s(obstacles, 1.0), 1.0);
    EXPECT_DOUBLE_EQ(busy_until_s(obstacles, 2.0), 3.0);
    EXPECT_DOUBLE_EQ(busy_until_s(obstacles, 10.0), 12.0);
}

// Goal: whatever is left and whatever is expected, the plan is legal for a planner's own checker.
TEST(Planning, every_plan_is_legal_from_now_on) {
    std::mt19937 random{11};
    std::uniform_real_distribution<double> any(0.0, 1.0);
    for (int round = 0; round < 300; ++round) {
        std::vector<JobLeft> jobs(1 + round % 12);
        for (JobLeft& job : jobs)
            job = {any(random) < 0.3 ? 0.0 : any(random), any(random), any(random) < 0.2};
        PlanningView view;
        view.now_s = 50.0 + any(random);
        view.jobs = jobs;
        view.rules.resumable = round % 2 == 0;
        view.algorithm =
            k_algorithms[static_cast<std::size_t>(round / 2) % std::size(k_algorithms)];
        view.rules.search_steps = 2000;
        for (auto* lane : {&view.expected.obstacles.compress, &view.expected.obstacles.write}) {
            double at_s = 48.0;
            for (int i = 0; i < 6; ++i) {
                const double begin_s = at_s += any(random);
                lane->push_back({begin_s, at_s += any(random)});
            }
        }
        DumpPlan plan;
        planned(plan, view);
        Schedule schedule;
        std::vector<Job> left;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            EXPECT_EQ(plan.times[i].planned, !jobs[i].written);
            if (jobs[i].written) continue;
            const TaskTimes& times = plan.times[i];
            EXPECT_GE(times.compress_begin_s, view.now_s);
            EXPECT_GE(times.write_begin_s, times.compress_end_s);
            for (const Interval& o : view.expected.obstacles.write)
                EXPECT_TRUE(times.write_end_s <= o.begin_s + 1e-9 ||
                            times.write_begin_s >= o.end_s - 1e-9);
            EXPECT_LE(times.write_end_s, plan.end_s + 1e-9);
        }
        JobOrder sorted = plan.compress_order;
        std::sort(sorted.begin(), sorted.end());
        for (std::uint32_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
    }
}

TEST(Planning, a_tenth_of_the_plan_is_close_enough) {
    DumpPlan plan;
    plan.made_s = 100.0;
    plan.end_s = 102.0;
    EXPECT_FALSE(departed(plan, 0.19));
    EXPECT_TRUE(departed(plan, 0.21));
    EXPECT_TRUE(departed(plan, -0.21)) << "far ahead: what did not fit may fit now";
    plan.end_s = 100.001;
    EXPECT_FALSE(departed(plan, 0.004)) << "milliseconds are never worth it";
    Expectation expected;
    expected.slip_s = 1.0;
    EXPECT_TRUE(departed(plan, expected));
    plan.slip_s = 1.0;
    EXPECT_FALSE(departed(plan, expected));
    expected.kind = 1;
    EXPECT_TRUE(departed(plan, expected));
}

TEST(Planning, what_took_longer_so_far_is_expected_to_go_on_so) {
    EXPECT_DOUBLE_EQ(scale_of(0.0, 0.0), 1.0);
    EXPECT_DOUBLE_EQ(scale_of(3.0, 2.0), 1.5);
    EXPECT_DOUBLE_EQ(scale_of(1000.0, 1.0), 8.0);
    EXPECT_DOUBLE_EQ(scale_of(0.001, 1.0), 0.125);
}

}  // namespace
}  // namespace caesura::plan
