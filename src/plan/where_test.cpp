#include "plan/where.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace caesura::plan {
namespace {

Candidate known(double compute_s, double to_s = 0.0, double queue_s = 0.0, double from_s = 0.0) {
    return {to_s, queue_s, compute_s, 0.0, from_s, Known::like_sizes};
}

/// Trials out of the way.
WhereRules no_trials() {
    WhereRules rules;
    rules.loss_share = rules.first_loss_s = 0.0;
    return rules;
}

TEST(Where, the_least_latency_wins_with_links_and_queues) {
    Chooser chooser(no_trials());
    const Candidate cpu = known(0.4);
    EXPECT_EQ(chooser.choose(std::vector{cpu, known(0.1, 0.2, 0.0, 0.05)})->device, 1u);
    EXPECT_EQ(chooser.choose(std::vector{cpu, known(0.1, 0.2, 0.0, 0.2)})->device, 0u);
    EXPECT_EQ(chooser.choose(std::vector{cpu, known(0.1, 0.0, 0.35, 0.0)})->device, 0u);
    EXPECT_DOUBLE_EQ(latency_s(known(1.0, 2.0, 4.0, 8.0)), 15.0);
}

TEST(Where, a_device_that_cannot_take_it_is_left_out) {
    constexpr double k_never = std::numeric_limits<double>::infinity();
    Chooser chooser(no_trials());
    EXPECT_EQ(chooser.choose(std::vector{known(0.1, k_never), known(9.0)})->device, 1u);
    EXPECT_FALSE(chooser.choose(std::vector{known(0.1, k_never), known(k_never)}));
    EXPECT_FALSE(chooser.choose(std::vector<Candidate>()));
}

TEST(Where, where_nothing_is_known_the_shortest_way_wins) {
    Chooser chooser;
    const auto where = chooser.choose(std::vector{Candidate{0.2}, Candidate{0.1}});
    EXPECT_EQ(where->device, 1u);
    EXPECT_EQ(where->predicted_s, 0.0);
}

TEST(Where, a_new_device_is_tried_where_little_can_be_lost) {
    WhereRules rules;
    rules.first_loss_s = 0.01;
    rules.untried_factor = 4.0;
    Chooser chooser(rules);
    const Candidate unknown;
    EXPECT_EQ(chooser.choose(std::vector{known(1.0), unknown})->device, 0u) << "a large request";
    const auto tried = chooser.choose(std::vector{known(0.002), unknown});
    EXPECT_EQ(tried->device, 1u);
    EXPECT_TRUE(tried->is_trial);
    EXPECT_DOUBLE_EQ(tried->expected_loss_s, 4.0 * 0.002 - 0.002);
    // Till it is known what it cost, that much is spoken for.
    EXPECT_EQ(chooser.choose(std::vector{known(0.002), unknown})->device, 0u);
    chooser.done(*tried, 0.0021);
    EXPECT_NEAR(chooser.lost_s(), 0.0001, 1e-12);
    EXPECT_EQ(chooser.choose(std::vector{known(0.002), unknown})->device, 1u);
}

TEST(Where, a_trial_that_another_device_has_done_has_lost_nothing) {
    Chooser chooser;
    const auto tried = chooser.choose(std::vector{known(0.002), Candidate{}});
    ASSERT_TRUE(tried->is_trial);
    EXPECT_GT(chooser.lost_s(), 0.0);
    chooser.withdrawn(*tried);
    EXPECT_EQ(chooser.lost_s(), 0.0);
}

TEST(Where, trials_never_lose_more_than_is_allowed_and_one_surprise) {
    Chooser chooser;
    double worst_trial_s = 0.0;
    for (int request = 0; request < 5000; ++request) {
        const auto where = chooser.choose(std::vector{known(0.001), Candidate{}, known(0.0015)});
        const double took_s = where->device == 0 ? 0.001 : where->device == 1 ? 0.05 : 0.0015;
        if (where->is_trial) worst_trial_s = std::max(worst_trial_s, took_s - 0.001);
        chooser.done(*where, took_s);
        EXPECT_LE(chooser.lost_s(), chooser.allowed_loss_s() + worst_trial_s);
    }
    EXPECT_GT(worst_trial_s, 0.0);
}

TEST(Where, a_device_that_has_been_slow_is_tried_again_and_less_and_less_often) {
    Chooser chooser;
    std::vector<int> trials;
    for (int request = 0; request < 2000; ++request) {
        const auto where = chooser.choose(std::vector{known(0.001), known(0.0012)});
        if (where->is_trial) trials.push_back(request);
        chooser.done(*where, where->device == 0 ? 0.001 : 0.0012);
    }
    ASSERT_GE(trials.size(), 3u);
    EXPECT_LE(trials.size(), 6u);
    for (std::size_t i = 2; i < trials.size(); ++i)
        EXPECT_GT(trials[i] - trials[i - 1], 1.5 * (trials[i - 1] - trials[i - 2]));
}

TEST(Where, a_device_that_could_not_become_the_best_is_not_tried_again) {
    WhereRules rules;
    rules.first_loss_s = 1e9;
    Chooser chooser(rules);
    for (int request = 0; request < 2000; ++request) {
        const auto where = chooser.choose(std::vector{known(0.001), known(0.005), known(0.0035)});
        EXPECT_NE(where->device, 1u) << "four times as quick it would still be slower";
        chooser.done(*where, where->device == 0 ? 0.001 : 0.0035);
    }
}

// A device is not given up for what small requests cost there.
TEST(Where, hope_is_followed_only_as_far_as_fear_allows) {
    const Candidate small_runs_only{0.0, 0.0, 0.5, 0.001, 0.0, Known::other_sizes};
    Chooser careful(no_trials());
    EXPECT_EQ(careful.choose(std::vector{known(0.1), small_runs_only})->device, 0u);
    WhereRules rules;
    rules.first_loss_s = 0.5;
    Chooser bold(rules);
    EXPECT_EQ(bold.choose(std::vector{known(0.1), small_runs_only})->device, 1u);
    Candidate better = small_runs_only;
    better.compute_s = 0.05;
    EXPECT_EQ(careful.choose(std::vector{known(0.1), better})->device, 1u) << "nothing to fear";
}

}  // namespace
}  // namespace caesura::plan
