// Goal: whatever an application does from iteration to iteration, the expectation of the next one
// is that of its own kind as soon as the kind has been seen, and always sorted and disjoint.
#include "plan/iterations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace caesura::plan {
namespace {

IterationRecord record(double write_begin_s, double length_s = 10.0) {
    return {{{{0.0, write_begin_s}}, {{write_begin_s, write_begin_s + 1.0}}}, length_s};
}

// How many of the labels from `from` on are predicted from those before.
std::size_t hits(const std::vector<std::string>& labels, std::size_t from) {
    IterationHistory history;
    std::size_t right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (i >= from && history.next_label() == labels[i]) ++right;
        history.add(labels[i], false, {});
    }
    return right;
}

std::vector<std::string> repeated(const std::vector<std::string>& period, std::size_t count) {
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < count; ++i) labels.push_back(period[i % period.size()]);
    return labels;
}

TEST(IterationHistory, without_history_nothing_is_expected) {
    const IterationHistory history;
    EXPECT_EQ(history.next_label(), "");
    EXPECT_EQ(history.expect("", false), nullptr);
    EXPECT_EQ(history.expect("step", true), nullptr);
}

TEST(IterationHistory, every_period_is_foreseen_from_its_second_round_on) {
    const std::vector<std::vector<std::string>> periods = {
        {""}, {"a", "b"}, {"a", "a", "a", "regrid"}, {"a", "b", "a", "c"}, {"a", "a", "b", "b"},
    };
    for (const auto& period : periods) {
        const auto labels = repeated(period, 40);
        EXPECT_EQ(hits(labels, 2 * period.size()), 40 - 2 * period.size()) << period.back();
    }
}

TEST(IterationHistory, a_period_that_changes_is_followed) {
    auto labels = repeated({"a", "a", "regrid"}, 15);
    const auto slower = repeated({"a", "a", "a", "a", "regrid"}, 30);
    labels.insert(labels.end(), slower.begin(), slower.end());
    EXPECT_EQ(hits(labels, 15 + 10), 20u);
}

TEST(IterationHistory, each_kind_has_its_own_obstacles) {
    IterationHistory history;
    for (int i = 0; i < 12; ++i) {
        const bool regrid = i % 4 == 3;
        history.add(regrid ? "regrid" : "", i % 2 == 1, record(regrid ? 5.0 : 2.0));
    }
    EXPECT_EQ(history.expect("", false)->obstacles.write, record(2.0).obstacles.write);
    EXPECT_EQ(history.expect("", true)->obstacles.write, record(2.0).obstacles.write);
    EXPECT_EQ(history.expect("regrid", true)->obstacles.write, record(5.0).obstacles.write);
    // Never seen without a dump before it: what is known of the label is better than nothing.
    EXPECT_EQ(history.expect("regrid", false)->obstacles.write, record(5.0).obstacles.write);
    // Of a label never seen: the kind seen last of those that are alike in regard to dumps.
    EXPECT_EQ(history.expect("analysis", true)->obstacles.write, record(5.0).obstacles.write);
    EXPECT_EQ(history.expect("analysis", false)->obstacles.write, record(2.0).obstacles.write);
}

TEST(IterationHistory, one_odd_iteration_is_outvoted_and_a_change_is_followed) {
    IterationHistory history;
    for (const double begin_s : {2.0, 2.0, 9.0}) history.add("", false, record(begin_s));
    EXPECT_EQ(history.expect("", false)->obstacles.write, record(2.0).obstacles.write);
    history.add("", false, record(9.0));
    EXPECT_EQ(history.expect("", false)->obstacles.write, record(9.0).obstacles.write);
}

TEST(IterationHistory, more_or_fewer_marks_than_before_begin_anew) {
    IterationHistory history;
    history.add("", false, record(2.0));
    IterationRecord more = record(3.0);
    more.obstacles.write.push_back({6.0, 7.0});
    history.add("", false, more);
    EXPECT_EQ(history.expect("", false)->obstacles.write, more.obstacles.write);
    history.add("", false, record(4.0));  // as many as the first: these two count
    EXPECT_EQ(history.expect("", false)->obstacles.write, record(3.0).obstacles.write);
}

TEST(IterationHistory, one_iteration_with_more_marks_is_outvoted_too) {
    IterationHistory history;
    IterationRecord odd = record(5.0, 20.0);
    odd.obstacles.compress.push_back({8.0, 9.0});
    history.add("", false, record(2.0, 10.0));
    history.add("", false, record(3.0, 11.0));
    history.add("", false, odd);
    EXPECT_EQ(history.expect("", false)->obstacles.compress.size(), 1u);
    EXPECT_DOUBLE_EQ(history.expect("", false)->length_s, 10.5);
    history.add("", false, odd);
    EXPECT_EQ(history.expect("", false)->obstacles.compress.size(), 2u);
    EXPECT_DOUBLE_EQ(history.expect("", false)->length_s, 20.0);
}

// Goal: the spread is that of the ends by themselves; being late as a whole is none.
TEST(IterationHistory, the_spread_of_obstacles_is_found_and_lateness_is_no_spread) {
    IterationHistory drifting, noisy;
    std::mt19937 random{3};
    std::normal_distribution<double> off_s(0.0, 0.01);
    double sum_s = 0.0;
    constexpr int k_rounds = 300;
    for (int round = 0; round < k_rounds; ++round) {
        IterationRecord late, any;
        for (int i = 0; i < 6; ++i) {
            const double begin_s = i + 1.0, end_s = i + 1.5;
            late.obstacles.write.push_back({begin_s, end_s});
            any.obstacles.write.push_back({begin_s + off_s(random), end_s + off_s(random)});
        }
        for (Interval& o : late.obstacles.write)
            o = {o.begin_s + 0.1 * round, o.end_s + 0.1 * round};
        drifting.add("", false, late);
        noisy.add("", false, any);
        sum_s += round >= 2 ? noisy.expect("", false)->obstacles.spread_s : 0.0;
    }
    EXPECT_NEAR(sum_s / (k_rounds - 2), 0.01, 0.001);
    // Only the first of its twelve ends is at another distance from the one before it.
    EXPECT_NEAR(drifting.expect("", false)->obstacles.spread_s, 0.2 / 1.693 / 12 / std::sqrt(2.0),
                1e-9);
    IterationHistory one;
    one.add("", false, record(2.0));
    EXPECT_EQ(one.expect("", false)->obstacles.spread_s, 0.0);
}

TEST(IterationHistory, the_last_iteration_can_be_said_again) {
    IterationHistory history;
    history.add("", false, record(2.0));
    history.add("", false, record(100.0));
    history.update_last(record(4.0, 12.0));
    EXPECT_EQ(history.expect("", false)->obstacles.write, record(3.0).obstacles.write);
    EXPECT_DOUBLE_EQ(history.expect("", false)->length_s, 11.0);
}

TEST(IterationHistory, labels_that_never_come_again_cost_bounded_memory_and_tell_of_the_last) {
    IterationHistory history;
    for (int i = 0; i < 1000; ++i) history.add("step " + std::to_string(i), i % 2 == 1, record(i));
    EXPECT_EQ(history.expect("step 1000", false)->obstacles.write, record(998).obstacles.write);
    EXPECT_EQ(history.expect("step 1000", true)->obstacles.write, record(999).obstacles.write);
    EXPECT_EQ(history.expect("step 1", true)->obstacles.write, record(999).obstacles.write)
        << "forgotten";
    EXPECT_EQ(history.expect("step 997", true)->obstacles.write, record(997).obstacles.write);
}

TEST(IterationHistory, what_is_expected_is_sorted_and_disjoint_whatever_was_seen) {
    std::mt19937 random{7};
    std::uniform_real_distribution<double> step_s(0.0, 1.0);
    IterationHistory history;
    for (int round = 0; round < 200; ++round) {
        IterationRecord any;
        double at_s = 0.0;
        for (int i = 0; i < 5; ++i) {
            const double begin_s = at_s += step_s(random), end_s = at_s += step_s(random);
            any.obstacles.write.push_back({begin_s, end_s});
        }
        history.add("", round % 2 == 0, any);
        const auto& write = history.expect("", round % 2 == 0)->obstacles.write;
        for (std::size_t i = 0; i < write.size(); ++i) {
            EXPECT_LE(write[i].begin_s, write[i].end_s);
            EXPECT_LE(i > 0 ? write[i - 1].end_s : 0.0, write[i].begin_s);
        }
    }
}

}  // namespace
}  // namespace caesura::plan
