// Goal: what the simulator says is what the arithmetic says, wherever arithmetic can say it.
#include "simulate/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "plan/instances.hpp"
#include "planners/planners.hpp"

namespace caesura::simulate {
namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();

/// A rank that computes and waits by turns, without noise.
Scenario quiet(std::uint32_t ranks, std::uint32_t per_node) {
    Scenario s;
    s.ranks = ranks;
    s.ranks_per_node = per_node;
    s.iterations = 4;
    s.patterns = {{1.0, {{{0.0, 0.3}, {0.5, 0.7}}, {{0.3, 0.35}, {0.7, 0.8}}}}};
    s.blocks = {std::vector<Block>(6, Block{8e6, 10.0, -1.0})};
    s.storage.node_bytes_per_s = 1e8;
    s.noise = {0, 0, 0, 0, 0, 0, 0, 1.0};
    return s;
}

Outcome run(const Scenario& scenario, Mode mode) {
    auto outcome = simulate(scenario, mode);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome.ok() ? *outcome : Outcome{};
}

TEST(Simulate, computing_alone_takes_its_iterations) {
    const Outcome outcome = run(quiet(8, 4), Mode::compute);
    EXPECT_NEAR(outcome.wall_s, 4.0, 1e-12);
    EXPECT_EQ(outcome.written_bytes, 0.0);
}

TEST(Simulate, synchronous_output_adds_its_bytes_over_the_bandwidth) {
    Scenario s = quiet(8, 4);
    const double raw_s = 4 * 6 * 8e6 / 1e8;
    EXPECT_NEAR(run(s, Mode::sync).wall_s, 4.0 + 3 * raw_s, 1e-9);
    s.storage.system_bytes_per_s = 1e8;  // both nodes together
    EXPECT_NEAR(run(s, Mode::sync).wall_s, 4.0 + 3 * 2 * raw_s, 1e-9);
    s.storage.latency_s = 0.01;
    EXPECT_NEAR(run(s, Mode::sync).wall_s, 4.0 + 3 * (2 * raw_s + 0.06), 1e-9);
}

TEST(Simulate, a_blocking_filter_adds_compression_and_its_bytes) {
    Scenario s = quiet(2, 2);
    s.compress.min_bytes_per_s = s.compress.max_bytes_per_s = 2e8;
    const double compress_s = 6 * 8e6 / 2e8, write_s = 2 * 6 * 8e5 / 1e8;
    EXPECT_NEAR(run(s, Mode::filter).wall_s, 4.0 + 3 * (compress_s + write_s), 1e-9);
}

TEST(Simulate, one_rank_without_noise_does_what_the_plan_says) {
    // An iteration of a random instance, once to be observed, once to be used.
    for (unsigned seed = 0; seed < 120; ++seed) {
        plan::InstanceMaker maker(seed, 0.0);
        const auto instance = maker.make(1 + seed % 12, seed % 7, 0.0);
        Scenario s = quiet(1, 1);
        s.iterations = 2;
        s.output.dumps_in_flight = 1;
        s.output.write_buffer_bytes = s.output.small_write_bytes = 0.0;
        s.output.patience_iterations = k_inf;
        s.output.write_in_order = true;
        s.storage.node_bytes_per_s = 1.0;  // a byte a second
        s.blocks = {{}};
        for (const plan::Job& job : instance.jobs)
            s.blocks[0].push_back({job.write_s, 1.0, job.compress_s});
        const auto shifted = [](std::vector<plan::Interval> obstacles) {
            std::erase_if(obstacles, [](const plan::Interval& o) { return o.end_s <= 0.0; });
            for (plan::Interval& o : obstacles) o.begin_s = std::max(0.0, o.begin_s);
            return obstacles;
        };
        const plan::Obstacles obstacles{shifted(instance.obstacles.compress),
                                        shifted(instance.obstacles.write)};
        double length_s = 1.0;
        for (const auto* lane : {&obstacles.compress, &obstacles.write})
            if (!lane->empty()) length_s = std::max(length_s, lane->back().end_s);
        s.patterns = {{length_s, obstacles}};
        for (const bool resumable : {false, true})
            for (const std::string_view algorithm : lab::k_algorithms) {
                s.output.resumable = resumable;
                s.output.algorithm = algorithm;
                plan::Rules rules;
                rules.resumable = resumable;
                rules.search_steps = s.output.search_steps;
                const auto schedule = lab::schedule(algorithm, instance.jobs, obstacles, rules);
                ASSERT_TRUE(schedule.ok()) << schedule.status().message();
                EXPECT_NEAR(run(s, Mode::caesura).wall_s,
                            length_s + std::max(length_s, schedule->end_s), 1e-9)
                    << "seed " << seed << " " << algorithm << " resumable " << resumable;
            }
    }
}

TEST(Simulate, bytes_written_are_the_bytes_handed_over) {
    Scenario s = quiet(12, 4);
    s.noise = Noise{};
    s.noise.jitter_sigma = 0.3;
    s.noise.block_sigma = 0.4;
    s.ratio_spread = 8.0;
    for (const Mode mode : k_modes) {
        const Outcome outcome = run(s, mode);
        const double dumped = mode == Mode::compute ? 0.0 : 3.0 * 12 * 6 * 8e6;
        EXPECT_NEAR(outcome.raw_bytes, dumped, 1.0) << to_string(mode);
        EXPECT_NEAR(outcome.written_bytes, outcome.compressed_bytes, 1.0) << to_string(mode);
        const bool raw = mode == Mode::sync || mode == Mode::async;
        if (raw) {
            EXPECT_NEAR(outcome.written_bytes, dumped, 1.0) << to_string(mode);
        }
    }
}

TEST(Simulate, the_same_seed_gives_the_same_outcome_in_every_thread) {
    Scenario s = quiet(16, 4);
    s.noise = Noise{};
    s.noise.jitter_sigma = 0.2;
    s.noise.contention_sigma = 0.3;
    s.storage.system_bytes_per_s = 3e8;
    s.ratio_spread = 6.0;
    const Outcome first = run(s, Mode::caesura);
    std::vector<double> walls(3);
    std::vector<std::thread> threads;
    for (double& wall_s : walls)
        threads.emplace_back([&wall_s, &s] { wall_s = run(s, Mode::caesura).wall_s; });
    for (std::thread& thread : threads) thread.join();
    for (const double wall_s : walls) EXPECT_EQ(wall_s, first.wall_s);
    s.seed = 2;
    EXPECT_NE(run(s, Mode::caesura).wall_s, first.wall_s);
}

TEST(Simulate, more_bandwidth_never_takes_longer_where_nothing_is_decided) {
    for (const Mode mode : {Mode::sync, Mode::filter, Mode::async}) {
        double before_s = k_inf;
        for (double bandwidth = 1e7; bandwidth < 1e10; bandwidth *= 1.7) {
            Scenario s = quiet(8, 4);
            s.noise = Noise{};
            s.conflict.communicate_slowdown = 1.0;
            s.storage.node_bytes_per_s = bandwidth;
            const double wall_s = run(s, mode).wall_s;
            EXPECT_LE(wall_s, before_s + 1e-9) << to_string(mode) << " at " << bandwidth;
            before_s = wall_s;
        }
    }
}

TEST(Simulate, without_limits_and_work_nothing_is_lost_but_noise_stays) {
    Scenario s = quiet(8, 4);
    s.noise.interval_sigma = 0.01;
    s.storage = {};
    s.compress.min_bytes_per_s = s.compress.max_bytes_per_s = 1e18;
    const double alone_s = run(s, Mode::compute).wall_s;
    EXPECT_GT(alone_s, 4.0);  // the slowest rank of eight sets the pace
    for (const Mode mode : k_modes)
        EXPECT_NEAR(run(s, mode).wall_s, alone_s, 1e-6) << to_string(mode);
}

TEST(Simulate, a_worker_of_equal_priority_costs_what_it_takes) {
    Scenario s = quiet(1, 1);
    s.patterns = {{1.0, {{{0.0, 1.0}}, {}}}};  // the core is never idle
    s.compress.min_bytes_per_s = s.compress.max_bytes_per_s = 6 * 8e6 / 0.2;
    s.storage = {};
    // Half the core until 0.2 s of compressing are done: the application has lost as much.
    EXPECT_NEAR(run(s, Mode::normal_priority).wall_s, 4.0 + 3 * 0.2, 1e-9);
    EXPECT_NEAR(run(s, Mode::normal_priority).delay_s, 3 * 0.2, 1e-9);
    // At idle priority it waits until somebody waits for it: for room, then at the end.
    s.output.dumps_in_flight = 1;
    EXPECT_NEAR(run(s, Mode::no_planning).wall_s, 4.0 + 3 * 0.2, 1e-9);
    EXPECT_NEAR(run(s, Mode::no_planning).wait_s + run(s, Mode::no_planning).closing_s, 3 * 0.2,
                1e-9);
}

TEST(Simulate, a_write_inside_communication_slows_it_by_the_given_factor) {
    Scenario s = quiet(1, 1);
    s.iterations = 2;
    s.patterns = {{1.0, {{}, {{0.0, 0.5}}}}};
    s.blocks = {{Block{2e7, 1.0}}};  // 0.2 s of writing
    for (const auto& [slowdown, delay_s] :
         {std::pair(1.0, 0.0), std::pair(2.0, 0.1), std::pair(k_inf, 0.2)}) {
        s.conflict.communicate_slowdown = slowdown;
        EXPECT_NEAR(run(s, Mode::async).delay_s, delay_s, 1e-9) << slowdown;
        EXPECT_NEAR(run(s, Mode::caesura).delay_s, 0.0, 1e-9) << slowdown;
    }
}

TEST(Simulate, a_dump_that_is_not_done_makes_the_next_one_wait) {
    Scenario s = quiet(1, 1);
    s.patterns = {{1.0, {}}};
    s.blocks = {{Block{1.5e8, 1.0}}};  // 1.5 s of writing an iteration
    s.output.dumps_in_flight = 1;
    const Outcome one = run(s, Mode::async);  // at 2.5, 4, 5.5 s the dumps are done
    EXPECT_NEAR(one.wall_s, 1.0 + 3 * 1.5, 1e-9);
    EXPECT_NEAR(one.iteration_s[1], 1.5, 1e-9);
    s.output.dumps_in_flight = 3;
    const Outcome three = run(s, Mode::async);
    EXPECT_NEAR(three.wall_s, 1.0 + 3 * 1.5, 1e-9);
    EXPECT_NEAR(three.wait_s, 0.0, 1e-9);
    EXPECT_NEAR(three.closing_s, 1.5, 1e-9);  // charged all the same
}

TEST(Simulate, light_ranks_help_heavy_ones_where_streams_are_the_limit) {
    Scenario s = quiet(4, 4);
    s.noise.ratio_sigma = 0.0;
    s.ratio_spread = 16.0;
    s.blocks = {std::vector<Block>(24, Block{8e6, 12.0, 0.001})};
    s.storage = {2e7, 0, 0, 0};
    s.output.dumps_in_flight = 1;
    s.output.balance = plan::Balance::none;
    const Outcome alone = run(s, Mode::caesura);
    for (const auto rule : {plan::Balance::first_to_last, plan::Balance::best_move}) {
        s.output.balance = rule;
        const Outcome helped = run(s, Mode::caesura);
        EXPECT_GT(helped.foreign_writes, 0u);
        EXPECT_LT(helped.dump_s, alone.dump_s * 1.2);
        EXPECT_LT(helped.wall_s, alone.wall_s - 0.05) << plan::to_string(rule);
        EXPECT_NEAR(helped.written_bytes, alone.written_bytes, 1.0);
    }
}

TEST(Simulate, ratios_of_a_node_differ_by_the_given_spread) {
    // One block a rank and a stream each: the time of a dump tells its ratio.
    Scenario s = quiet(4, 4);
    s.iterations = 2;
    s.blocks = {{Block{8e6, 16.0}}};
    s.ratio_spread = 10.0;
    s.storage = {1e6, 0, 0, 0};
    s.output.balance = plan::Balance::none;
    double least = k_inf, most = 0.0, sum = 0.0;
    for (std::uint32_t r = 0; r < 4; ++r) {
        s.timeline_rank = r;
        for (const Span& span : run(s, Mode::no_planning).timeline) {
            if (span.kind != Span::Kind::write) continue;
            const double ratio = 8.0 / (span.end_s - span.begin_s);
            least = std::min(least, ratio);
            most = std::max(most, ratio);
            sum += ratio;
        }
    }
    EXPECT_NEAR(most - least, 10.0, 1e-6);
    EXPECT_NEAR(sum / 4, 16.0, 1e-6);
}

TEST(Simulate, errors_name_the_setting_and_what_it_may_be) {
    const auto message = [](auto change) {
        Scenario s = quiet(2, 1);
        change(s);
        const auto outcome = simulate(s, Mode::caesura);
        EXPECT_FALSE(outcome.ok());
        return outcome.ok() ? std::string() : outcome.status().message();
    };
    const auto has = [](const std::string& text, const char* part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    has(message([](Scenario& s) { s.ranks = 0; }), "ranks is 0");
    has(message([](Scenario& s) { s.storage.latency_s = -1; }), "storage.latency_s is -1");
    has(message([](Scenario& s) { s.noise.ratio_sigma = std::nan(""); }), "noise.ratio_sigma");
    has(message([](Scenario& s) { s.ratio_spread = 4; }), "ranks_per_node");
    has(message([](Scenario& s) { s.patterns[0].obstacles.write[1].end_s = 2.0; }),
        "pattern 0: write obstacle 1");
    has(message([](Scenario& s) { s.blocks[0][3].ratio = 0.5; }), "block 3 of rank 0: ratio");
    has(message([](Scenario& s) { s.noise.contention_sigma = 0.1; }), "storage.system_bytes_per_s");
}

TEST(Simulate, can_be_stopped) {
    const auto outcome = simulate(quiet(4, 2), Mode::caesura, [](double) { return false; });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.status().code(), StatusCode::cancelled);
}

}  // namespace
}  // namespace caesura::simulate
