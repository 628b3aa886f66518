#include <gtest/gtest.h>

#include <algorithm>

#include "plan/references.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_search_seed = 20240501;

struct SearchGap {
    double sum = 0.0, worst = 0.0;
    int n = 0;
    void add(double end_s, double best_s) {
        const double gap = best_s > 0.0 ? end_s / best_s - 1.0 : 0.0;
        sum += gap;
        worst = std::max(worst, gap);
        ++n;
    }
};

// Goal: on problems small enough to try everything, no algorithm beats the optimum, no optimum
// beats the lower bound, every plan is legal, and the search is at the optimum nearly always. Both
// kinds of compression.
TEST(Search, stands_beside_the_optimum_of_all_pairs_of_orders) {
    RecordProperty("seed", static_cast<int>(k_search_seed));
    for (const bool resumable : {false, true}) {
        InstanceMaker maker(k_search_seed, 0.125);
        SearchGap gap;
        for (int round = 0; round < 60; ++round) {
            const Instance in = maker.make(1 + maker.below(5), maker.below(5), 0.05);
            const double best_s = optimum_s(in, resumable);
            ASSERT_LE(*lower_bound_s(in.jobs, in.obstacles), best_s) << "round " << round;
            Rules rules;
            rules.resumable = resumable;
            rules.search_steps = 20'000;
            for (const Algorithm a : k_algorithms) {
                const auto plan = schedule(a, in.jobs, in.obstacles, rules);
                ASSERT_TRUE(plan.ok()) << plan.status().message();
                const Status legal = check(*plan, in.jobs, in.obstacles, rules);
                ASSERT_TRUE(legal.ok()) << to_string(a) << ": " << legal.message();
                ASSERT_GE(plan->end_s, best_s) << to_string(a) << " round " << round;
                if (a == Algorithm::search) gap.add(plan->end_s, best_s);
            }
        }
        EXPECT_LE(gap.sum / gap.n, 0.003) << "resumable " << resumable;
        EXPECT_LE(gap.worst, 0.12) << "resumable " << resumable;
    }
}

// Goal: the search is legal, never worse than what it starts from, never better than the bound,
// and the same for the same input; a larger budget is never wasted on a plan that is worse.
TEST(Search, is_never_worse_than_its_seeds) {
    RecordProperty("seed", static_cast<int>(k_search_seed + 1));
    for (const double grid_s : {0.125, 0.0}) {
        InstanceMaker maker(k_search_seed + 1, grid_s);
        for (int round = 0; round < 60; ++round) {
            const auto [jobs, obstacles] =
                maker.make(maker.below(33), maker.below(20), round % 3 == 0 ? 0.2 : 0.0);
            for (const bool resumable : {false, true}) {
                Rules rules;
                rules.resumable = resumable;
                rules.search_steps = round % 2 == 0 ? 0 : 30'000;
                const auto plan = schedule(Algorithm::search, jobs, obstacles, rules);
                ASSERT_TRUE(plan.ok());
                const Status legal = check(*plan, jobs, obstacles, rules);
                ASSERT_TRUE(legal.ok()) << legal.message();
                for (const Algorithm a :
                     {Algorithm::ext_johnson_backfill, Algorithm::generation_list_backfill,
                      Algorithm::insertion_backfill})
                    ASSERT_LE(plan->end_s, schedule(a, jobs, obstacles, rules)->end_s)
                        << to_string(a) << " round " << round;
                ASSERT_GE(plan->end_s, *lower_bound_s(jobs, obstacles));
                const auto again = schedule(Algorithm::search, jobs, obstacles, rules);
                ASSERT_EQ(again->compress_begin_s, plan->compress_begin_s);
                ASSERT_EQ(again->write_begin_s, plan->write_begin_s);
            }
        }
    }
}

// Goal: worked out by hand. Obstacles [1, 2) and [3, 5) suspend a compression of 3 s that begins at
// 0: it works 1 s, then 1 s, and ends at 6.
TEST(Resumable, an_obstacle_suspends_a_compression) {
    const std::vector<Job> jobs = {{3, 1}, {1, 1}};
    const Obstacles obstacles{{{1, 2}, {3, 5}}, {{6, 7}}};
    Rules rules;
    rules.resumable = true;
    const auto plan = schedule(Algorithm::generation_list_backfill, jobs, obstacles, rules);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->compress_begin_s, (std::vector<double>{0, 6}));
    EXPECT_EQ(plan->compress_end_s, (std::vector<double>{6, 7}));
    EXPECT_EQ(plan->write_begin_s, (std::vector<double>{7, 8}));
    EXPECT_TRUE(check(*plan, jobs, obstacles, rules).ok());
    EXPECT_FALSE(check(*plan, jobs, obstacles).ok());  // S0's rule forbids it
    Schedule early = *plan;
    early.compress_end_s[0] = early.write_begin_s[0] = 5.5;  // half a second before it is done
    EXPECT_FALSE(check(early, jobs, obstacles, rules).ok());
}

}  // namespace
}  // namespace caesura::plan
