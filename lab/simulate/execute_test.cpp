// Goal: a rank of this world and plan::execute(), two calculations that share no code, agree on
// what becomes of a plan when obstacles and durations are not those expected.
#include <gtest/gtest.h>

#include <limits>

#include "planners/planners.hpp"
#include "simulate/workload.hpp"

namespace caesura::simulate {
namespace {

/// Obstacles of a row of phases.
plan::Obstacles obstacles_of(const std::vector<Phase>& phases, double& length_s) {
    plan::Obstacles obstacles;
    length_s = 0.0;
    for (const Phase& phase : phases) {
        const plan::Interval interval{length_s, length_s + phase.length_s};
        length_s = interval.end_s;
        const auto add = [&interval](std::vector<plan::Interval>& lane) {
            if (!lane.empty() && lane.back().end_s == interval.begin_s)
                lane.back().end_s = interval.end_s;
            else
                lane.push_back(interval);
        };
        if (phase.host) add(obstacles.compress);
        if (phase.network) add(obstacles.write);
    }
    return obstacles;
}

/// One rank whose iterations have phases of random lengths, all longer than their noise, and time
/// left at the end.
Scenario scenario_of(unsigned seed, bool resumable) {
    const Random random(seed);
    const auto length_s = [&random](std::uint64_t i) {
        return 0.2 + 0.1 * std::min(2.0, std::fabs(random.normal(Draw::rank, i)));
    };
    Scenario s;
    s.iterations = 2;
    s.seed = seed;
    Pattern pattern;
    double at_s = 0.0;
    for (std::uint64_t i = 0; i < 12; ++i) {
        const double end_s = at_s + length_s(i);
        if (i % 3 == 1) pattern.obstacles.compress.push_back({at_s, end_s});
        if (i % 3 == 2) pattern.obstacles.write.push_back({at_s, end_s});
        at_s = end_s;
    }
    pattern.iteration_s = at_s + 1.0;
    s.patterns = {pattern};
    s.blocks = {{}};
    for (std::uint64_t i = 0; i < 8; ++i)
        s.blocks[0].push_back({length_s(20 + i) / 2, 1.5, length_s(40 + i) / 2});
    s.storage.stream_bytes_per_s = 1.0;  // a byte a second
    s.noise.interval_sigma = 0.005;
    s.output.resumable = resumable;
    s.output.algorithm = "ext_johnson_backfill";
    s.output.dumps_in_flight = 1;
    s.output.write_in_order = true;
    s.output.write_buffer_bytes = s.output.small_write_bytes = 0.0;
    s.output.patience_iterations = std::numeric_limits<double>::infinity();
    s.conflict.communicate_slowdown = std::numeric_limits<double>::infinity();
    return s;
}

TEST(World, a_noisy_rank_does_what_execute_says) {
    int held_up = 0;
    for (unsigned seed = 1; seed <= 300; ++seed) {
        for (const bool resumable : {false, true}) {
            const Scenario s = scenario_of(seed, resumable);
            const Workload workload(s);
            std::vector<Phase> before, during;
            double before_s = 0.0, during_s = 0.0;
            workload.phases(0, 0, before);
            workload.phases(0, 1, during);
            const plan::Obstacles expected = obstacles_of(before, before_s);
            const plan::Obstacles real = obstacles_of(during, during_s);
            std::vector<plan::Job> expected_jobs, real_jobs;
            for (const Piece& piece : workload.pieces(0, 0)) {
                expected_jobs.push_back({piece.predicted_compress_s, piece.predicted_bytes});
                real_jobs.push_back({piece.compress_s, piece.bytes * piece.write_factor});
            }
            plan::Rules rules;
            rules.resumable = resumable;
            const auto schedule = lab::schedule(s.output.algorithm, expected_jobs, expected, rules);
            ASSERT_TRUE(schedule.ok());
            // A lane knows how large a block is when it decides on its write.
            const plan::Orders orders = plan::orders_of(*schedule, expected_jobs);
            for (std::size_t j = 0; j < expected_jobs.size(); ++j)
                expected_jobs[j].write_s = workload.pieces(0, 0)[j].bytes;
            const auto done =
                plan::execute(orders, expected_jobs, expected, real_jobs, real, rules);
            ASSERT_TRUE(done.ok()) << done.status().message();
            const auto outcome = simulate(s, Mode::caesura);
            ASSERT_TRUE(outcome.ok()) << outcome.status().message();
            EXPECT_NEAR(outcome->delay_s, done->delay_s, 1e-9)
                << "seed " << seed << " resumable " << resumable;
            EXPECT_NEAR(outcome->dump_s, done->schedule.end_s, 1e-9)
                << "seed " << seed << " resumable " << resumable;
            EXPECT_NEAR(outcome->wall_s,
                        before_s + std::max(during_s + done->delay_s, done->schedule.end_s), 1e-9)
                << "seed " << seed << " resumable " << resumable;
            held_up += done->delay_s > 0.0;
        }
    }
    EXPECT_GT(held_up, 30);  // it was about something
}

}  // namespace
}  // namespace caesura::simulate
