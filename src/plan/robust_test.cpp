// Plans against distributions: the worlds they are made for, and what they promise there.
#include <gtest/gtest.h>

#include <cmath>

#include "plan/instances.hpp"
#include "plan/scenarios.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_robust_seed = 20261122;

Instance with_noise(InstanceMaker& maker, std::size_t n_jobs, std::size_t n_obstacles) {
    Instance in = maker.make(n_jobs, n_obstacles, 0.0);
    for (Job& job : in.jobs) {  // S0 §5.4.1
        job.compress_spread_s = 0.05 * job.compress_s;
        job.write_spread_s = 0.112 * job.write_s;
    }
    in.obstacles.spread_s = 0.1;
    return in;
}

// Goal: worlds are drawn as the spreads say, on average and in width, and are always valid.
TEST(Scenario, has_the_spreads_asked_for) {
    RecordProperty("seed", static_cast<int>(k_robust_seed));
    Random random(k_robust_seed);
    const std::vector<Job> jobs = {{10, 5, 1, 0.25}};
    const Obstacles obstacles{{{20, 40}, {60, 80}}, {}, 2.0};
    double sum[3] = {}, squares[3] = {};
    constexpr int k_rounds = 20'000;
    for (int i = 0; i < k_rounds; ++i) {
        const Scenario world = draw_scenario(jobs, obstacles, random);
        ASSERT_TRUE(validate(world.jobs, world.obstacles).ok());
        const double values[] = {world.jobs[0].compress_s, world.jobs[0].write_s,
                                 world.obstacles.compress[1].begin_s};
        for (int k = 0; k < 3; ++k) {
            sum[k] += values[k];
            squares[k] += values[k] * values[k];
        }
    }
    const double mean[] = {10, 5, 60}, spread[] = {1, 0.25, 2};
    for (int k = 0; k < 3; ++k) {
        const double found = sum[k] / k_rounds;
        EXPECT_NEAR(found, mean[k], 0.03 * spread[k]) << k;
        EXPECT_NEAR(std::sqrt(squares[k] / k_rounds - found * found), spread[k], 0.03 * spread[k])
            << k;
    }
}

// Goal: a robust schedule is legal, deterministic, and in the worlds it was made for no worse on
// average than S0's choice; without spreads it is the schedule of the search.
TEST(Robust, is_legal_and_in_its_worlds_never_worse_than_its_seeds) {
    RecordProperty("seed", static_cast<int>(k_robust_seed));
    InstanceMaker maker(k_robust_seed, 0.0);
    for (int round = 0; round < 12; ++round) {
        Instance in = with_noise(maker, 1 + maker.below(16), maker.below(8));
        for (const bool resumable : {false, true}) {
            Rules rules;
            rules.resumable = resumable;
            rules.search_steps = 100'000;
            rules.robust = true;
            const auto plan = schedule(Algorithm::search, in.jobs, in.obstacles, rules);
            ASSERT_TRUE(plan.ok());
            const Status legal = check(*plan, in.jobs, in.obstacles, rules);
            ASSERT_TRUE(legal.ok()) << legal.message();
            const auto again = schedule(Algorithm::search, in.jobs, in.obstacles, rules);
            ASSERT_EQ(again->write_begin_s, plan->write_begin_s);
            const auto simple =
                schedule(Algorithm::ext_johnson_backfill, in.jobs, in.obstacles, rules);
            double robust_s = 0.0, simple_s = 0.0;
            Random random(rules.seed);
            for (int i = 0; i < 24; ++i) {  // the worlds of robust.cpp
                const Scenario world = draw_scenario(in.jobs, in.obstacles, random);
                for (const auto& [sum_s, made] :
                     {std::pair{&robust_s, &*plan}, std::pair{&simple_s, &*simple}}) {
                    const auto done = execute(orders_of(*made, in.jobs), in.jobs, in.obstacles,
                                              world.jobs, world.obstacles, rules);
                    double end_s = done->schedule.end_s;
                    for (const auto* lane : {&done->obstacles.compress, &done->obstacles.write})
                        if (!lane->empty()) end_s = std::max(end_s, lane->back().end_s);
                    *sum_s += end_s;
                }
            }
            ASSERT_LE(robust_s, simple_s * (1.0 + 1e-12)) << "round " << round;
        }
        for (Job& job : in.jobs) job.compress_spread_s = job.write_spread_s = 0.0;
        in.obstacles.spread_s = 0.0;
        Rules plain, robust;
        plain.search_steps = robust.search_steps = 10'000;
        robust.robust = true;
        EXPECT_EQ(schedule(Algorithm::search, in.jobs, in.obstacles, robust)->write_begin_s,
                  schedule(Algorithm::search, in.jobs, in.obstacles, plain)->write_begin_s);
    }
}

}  // namespace
}  // namespace caesura::plan
