// Plans run in a world as expected, and in worlds that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/instances.hpp"
#include "plan/orders.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_execute_seed = 20261121;

Execution run(const Orders& orders, const Instance& expected, const Instance& real,
              bool resumable = false) {
    Rules rules;
    rules.resumable = resumable;
    auto result =
        execute(orders, expected.jobs, expected.obstacles, real.jobs, real.obstacles, rules);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
}

// Goal: in a world as expected every algorithm's schedule happens to the last bit, both kinds of
// compression, on a grid (ties, touching intervals) and on real numbers. Tasks that take no time
// have no order among themselves where they share a moment, so only the end is held to then.
TEST(Execute, a_world_as_expected_gives_the_planned_schedule) {
    RecordProperty("seed", static_cast<int>(k_execute_seed));
    for (const double grid_s : {0.25, 0.0}) {
        InstanceMaker maker(k_execute_seed, grid_s);
        for (int round = 0; round < 150; ++round) {
            const bool has_zeros = round % 3 == 0;
            const Instance in = maker.make(maker.below(15), maker.below(10), has_zeros ? 0.3 : 0.0);
            for (const bool resumable : {false, true}) {
                Rules rules;
                rules.resumable = resumable;
                rules.search_steps = 3'000;
                for (const Algorithm a : k_algorithms) {
                    const auto plan = schedule(a, in.jobs, in.obstacles, rules);
                    const auto done = run(orders_of(*plan, in.jobs), in, in, resumable);
                    const auto what = std::string(to_string(a)) + " round " + std::to_string(round);
                    ASSERT_EQ(done.delay_s, 0.0) << what;
                    if (has_zeros) {
                        ASSERT_LE(done.schedule.end_s, plan->end_s) << what;
                        continue;
                    }
                    ASSERT_EQ(done.schedule.compress_begin_s, plan->compress_begin_s) << what;
                    ASSERT_EQ(done.schedule.compress_end_s, plan->compress_end_s) << what;
                    ASSERT_EQ(done.schedule.write_begin_s, plan->write_begin_s) << what;
                    ASSERT_EQ(done.schedule.end_s, plan->end_s) << what;
                }
            }
        }
    }
}

// Goal: whatever really happens, the orders are kept, nothing overlaps, and the application's
// obstacles come in their own length and as late as it was held up.
TEST(Execute, keeps_the_orders_and_overlaps_nothing_in_any_world) {
    RecordProperty("seed", static_cast<int>(k_execute_seed + 1));
    InstanceMaker maker(k_execute_seed + 1, 0.0);
    for (int round = 0; round < 300; ++round) {
        const std::size_t n = maker.below(15);
        const Instance expected = maker.make(n, maker.below(8), 0.1);
        const Instance real = maker.make(n, maker.below(8), 0.1);
        for (const bool resumable : {false, true}) {
            Rules rules;
            rules.resumable = resumable;
            const auto plan =
                schedule(Algorithm::ext_johnson_backfill, expected.jobs, expected.obstacles, rules);
            const Orders orders = orders_of(*plan, expected.jobs);
            const Execution done = run(orders, expected, real, resumable);
            // Times that a delay was added to round, and so may touch by a last place.
            Obstacles happened = done.obstacles;
            for (auto* lane : {&happened.compress, &happened.write})
                for (Interval& o : *lane) o.begin_s += 1e-9, o.end_s -= 1e-9;
            if (!resumable) {
                const Status status = check(done.schedule, real.jobs, happened, rules);
                ASSERT_TRUE(status.ok()) << "round " << round << ": " << status.message();
            }
            for (std::size_t i = 1; i < n; ++i) {
                ASSERT_LE(done.schedule.compress_end_s[orders.compress[i - 1]],
                          done.schedule.compress_begin_s[orders.compress[i]]);
                ASSERT_LE(done.schedule.write_begin_s[orders.write[i - 1]],
                          done.schedule.write_begin_s[orders.write[i]]);
            }
            ASSERT_GE(done.delay_s, 0.0);
        }
    }
}

// Goal: worked out by hand. One write of 2 s expected, 3 s real, obstacle due at 5.
TEST(Execute, a_write_that_overruns_holds_the_application_up) {
    const Instance expected{{{2, 2}, {1, 1}}, {{{7, 8}}, {{5, 6}}}};
    Instance real = expected;
    real.jobs[0].write_s = 4;
    const Execution done = run({{0, 1}, {0, 1}}, expected, real);
    EXPECT_EQ(done.schedule.write_begin_s, (std::vector<double>{2, 7}));
    EXPECT_EQ(done.delay_s, 1.0);
    EXPECT_EQ(done.obstacles.write, (std::vector<Interval>{{6, 7}}));
    EXPECT_EQ(done.obstacles.compress, (std::vector<Interval>{{8, 9}}));  // one program, one clock
    EXPECT_EQ(done.schedule.end_s, 8.0);
}

// Goal: worked out by hand: a resumable compression gives way at once, an obstacle that is late is
// waited for until its expected end, one that is early shifts what is expected after it.
TEST(Execute, obstacles_that_come_early_or_late) {
    const Instance expected{{{1, 2}, {1, 1}}, {{}, {{2, 3}}}};
    Instance real = expected;
    real.obstacles.write = {{9, 10}};  // 7 s late: forgotten at 3
    Execution done = run({{0, 1}, {0, 1}}, expected, real);
    EXPECT_EQ(done.schedule.write_begin_s, (std::vector<double>{3, 5}));
    real.obstacles.write = {{0.5, 1.5}};  // early: gone when the first write may begin
    done = run({{0, 1}, {0, 1}}, expected, real);
    EXPECT_EQ(done.schedule.write_begin_s, (std::vector<double>{1.5, 3.5}));

    real = {{{3, 1}, {1, 1}}, {{{1, 2}, {3, 5}}, {{6, 7}}}};
    done = run({{0, 1}, {0, 1}}, {real.jobs, {}}, real, true);
    EXPECT_EQ(done.schedule.compress_begin_s, (std::vector<double>{0, 6}));
    EXPECT_EQ(done.schedule.compress_end_s, (std::vector<double>{6, 7}));
    EXPECT_EQ(done.schedule.write_begin_s, (std::vector<double>{7, 8}));
    EXPECT_EQ(done.delay_s, 0.0);
}

TEST(Execute, refuses_what_is_no_order) {
    const std::vector<Job> jobs = {{1, 1}, {1, 1}};
    const auto message = [&](const Orders& orders) {
        const auto result = execute(orders, jobs, {}, jobs, {});
        return result.ok() ? std::string() : std::string(result.status().message());
    };
    EXPECT_EQ(message({{0, 1}, {1, 0}}), "");
    EXPECT_NE(message({{0}, {1, 0}}).find("compress order names 1 jobs"), std::string::npos);
    EXPECT_NE(message({{0, 1}, {1, 1}}).find("write order names job 1 twice"), std::string::npos);
    EXPECT_NE(message({{0, 7}, {1, 0}}).find("job 7"), std::string::npos);
    EXPECT_FALSE(execute({{}, {}}, jobs, {}, {}, {}).ok());
}

}  // namespace
}  // namespace caesura::plan
