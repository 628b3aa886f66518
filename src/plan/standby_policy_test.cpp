// Goal: work at normal priority begins early enough for what is left at half a core, and no
// earlier; of several works each is in time, in the order in which they are due.
#include "plan/standby_policy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace caesura::plan {
namespace {

double begin_alone_s(double due_s, double max_delay_s, double left_s) {
    const DueWork work{done_by_s(due_s, max_delay_s), left_s};
    return turn_of(std::span(&work, 1), work).begin_s;
}

TEST(StandbyPolicy, keeps_a_fifth_of_the_promise_and_counts_on_half_a_core) {
    EXPECT_DOUBLE_EQ(begin_alone_s(110.0, 10.0, 0.0), 108.0);
    EXPECT_DOUBLE_EQ(begin_alone_s(110.0, 10.0, 1.5 + 0.5), 104.0);
}

TEST(StandbyPolicy, more_work_begins_earlier_and_too_much_at_once) {
    double last_s = 1e9;
    for (double left_s = 0.0; left_s < 100.0; left_s += 0.5) {
        const double begin_s = begin_alone_s(60.0, 10.0, left_s);
        EXPECT_LT(begin_s, last_s);
        last_s = begin_s;
    }
    EXPECT_LT(last_s, 50.0) << "before the hand-over: now";
}

TEST(StandbyPolicy, what_is_due_later_makes_what_is_due_sooner_begin_earlier) {
    const std::vector<DueWork> all = {
        {10.0, 1.0, true, 0}, {11.0, 2.0, true, 1}, {30.0, 1.0, true, 2}};
    EXPECT_DOUBLE_EQ(turn_of(all, all[0]).begin_s, 5.0);  // 11 - 6, not 10 - 2
    EXPECT_DOUBLE_EQ(turn_of(all, all[0]).alone_s, 5.0);
    EXPECT_TRUE(turn_of(all, all[0]).is_first);
    EXPECT_DOUBLE_EQ(turn_of(all, all[1]).begin_s, 5.0);
    EXPECT_DOUBLE_EQ(turn_of(all, all[1]).alone_s, 7.0);  // 11 - 4
    EXPECT_FALSE(turn_of(all, all[1]).is_first);
    EXPECT_DOUBLE_EQ(turn_of(all, all[2]).begin_s, 22.0);
}

TEST(StandbyPolicy, of_works_that_are_due_together_one_is_first) {
    const std::vector<DueWork> all = {{10.0, 1.0, true, 3}, {10.0, 1.0, true, 5}};
    EXPECT_TRUE(turn_of(all, all[0]).is_first);
    EXPECT_FALSE(turn_of(all, all[1]).is_first);
}

TEST(StandbyPolicy, nobody_waits_for_what_cannot_be_compressed_or_is_its_own) {
    std::vector<DueWork> all = {{10.0, 1.0, false, 0}, {11.0, 1.0, true, 1}, {12.0, 1.0, true, 1}};
    EXPECT_TRUE(turn_of(all, all[1]).is_first);
    EXPECT_TRUE(turn_of(all, all[2]).is_first);
    EXPECT_DOUBLE_EQ(turn_of(all, all[2]).alone_s, 8.0) << "its own two, without the first";
}

// Goal: begun at the moment said and done in turn at half a core, nothing is late, and something
// would be if all began later.
TEST(StandbyPolicy, in_turn_all_is_in_time_and_no_later_begin_would_do) {
    std::mt19937 random{7};
    std::uniform_real_distribution<double> any(0.0, 1.0);
    for (int round = 0; round < 1000; ++round) {
        std::vector<DueWork> all(1 + static_cast<std::size_t>(round) % 12);
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = {100.0 + 20.0 * any(random), 3.0 * any(random), true,
                      static_cast<std::uint32_t>(i)};
        std::sort(all.begin(), all.end(), is_before);
        const double begin_s = turn_of(all, all.front()).begin_s;
        const auto lateness_s = [&](double at_s) {
            double most_s = -1e9;
            for (const DueWork& work : all) {
                at_s += work.left_s / k_standby_share;
                most_s = std::max(most_s, at_s - work.by_s);
            }
            return most_s;
        };
        EXPECT_NEAR(lateness_s(begin_s), 0.0, 1e-9);
        double at_s = begin_s;
        for (const DueWork& work : all) {
            EXPECT_LE(at_s, turn_of(all, work).alone_s + 1e-9) << "its turn comes too late";
            at_s += work.left_s / k_standby_share;
        }
    }
}

}  // namespace
}  // namespace caesura::plan
