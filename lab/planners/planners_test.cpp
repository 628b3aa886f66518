// The papers' planners against their own text, and against the optimum.
#include "planners/planners.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/references.hpp"

namespace caesura::lab {
namespace {

using namespace plan;  // NOLINT: its types, as plain numbers
using lab::k_algorithms, lab::schedule;

// Those that are an order, each task after those placed before it.
constexpr std::string_view k_appended[] = {"ext_johnson", "generation_list", "insertion"};
constexpr unsigned k_planners_seed = 20240422;

Order reference_order(std::string_view algorithm, std::span<const Job> jobs) {
    if (algorithm == "ext_johnson") return johnson_by_definition(jobs);
    // Held to the paper in plan/insertion_test.cpp.
    return algorithm == "insertion" ? insertion_order(jobs) : generation_order(jobs.size());
}

// Goal: the paper's own example, to the second. Jobs are numbered from 0 here.
TEST(Appended, figure_1_of_s0) {
    const std::vector<Job> jobs = {{1, 2}, {2, 1}, {2, 2}, {3, 2}};
    const Obstacles obstacles{{{3, 4}, {6, 7}}, {{4, 5}}};
    const auto plain = schedule("ext_johnson", jobs, obstacles);
    ASSERT_TRUE(plain.ok()) << plain.status().message();
    EXPECT_EQ(plain->compress_begin_s, (std::vector<double>{0, 10, 1, 7}));  // order 1, 3, 4, 2
    EXPECT_EQ(plain->write_begin_s, (std::vector<double>{1, 12, 5, 10}));
    EXPECT_EQ(plain->end_s, 13.0);
    const auto filled = schedule("ext_johnson_backfill", jobs, obstacles);
    ASSERT_TRUE(filled.ok()) << filled.status().message();
    // Job 2 goes before job 4 in both lanes; job 4 stays where it was.
    EXPECT_EQ(filled->compress_begin_s, (std::vector<double>{0, 4, 1, 7}));
    EXPECT_EQ(filled->write_begin_s, (std::vector<double>{1, 7, 5, 10}));
    EXPECT_EQ(filled->end_s, 12.0);
    // Not in the paper: the same instance in order of generation, placed by hand.
    const auto listed = schedule("generation_list", jobs, obstacles);
    EXPECT_EQ(listed->compress_begin_s, (std::vector<double>{0, 1, 4, 7}));
    EXPECT_EQ(listed->write_begin_s, (std::vector<double>{1, 3, 6, 10}));
}

// Goal: without obstacles Johnson's order is optimal, without backfilling too.
TEST(Appended, johnson_is_optimal_without_obstacles) {
    RecordProperty("seed", static_cast<int>(k_planners_seed));
    InstanceMaker maker(k_planners_seed, 0.125);
    for (int round = 0; round < 300; ++round) {
        const auto jobs = maker.make(maker.below(7), 0, 0.1).jobs;
        const double optimum_s = jobs.empty() ? 0.0 : brute_force_optimum_s(jobs);
        const auto made = schedule("ext_johnson", jobs, {});
        ASSERT_TRUE(made.ok());
        ASSERT_EQ(made->end_s, optimum_s) << "round " << round;
    }
}

// Goal: every task gets exactly the earliest legal place that its algorithm's rule leaves, and
// check() finds nothing, on a grid (ties, touching intervals, zero lengths) and on real numbers.
TEST(Appended, gives_every_task_its_earliest_legal_place) {
    RecordProperty("seed", static_cast<int>(k_planners_seed));
    for (const double grid_s : {0.25, 0.0}) {
        InstanceMaker maker(k_planners_seed + 1, grid_s);
        for (int round = 0; round < 400; ++round) {
            const auto [jobs, obstacles] =
                maker.make(maker.below(25), maker.below(10), round % 3 == 0 ? 0.3 : 0.0);
            for (const std::string_view a : k_appended) {
                const auto plan = schedule(a, jobs, obstacles);
                ASSERT_TRUE(plan.ok()) << plan.status().message();
                const Status legal = check(*plan, jobs, obstacles);
                ASSERT_TRUE(legal.ok()) << a << ": " << legal.message();
                ReferenceLane compress(obstacles.compress, false);
                ReferenceLane write(obstacles.write, false);
                for (const std::size_t j : reference_order(a, jobs)) {
                    const double begin_s = compress.place(0.0, jobs[j].compress_s);
                    ASSERT_EQ(plan->compress_begin_s[j], begin_s)
                        << a << " grid " << grid_s << " round " << round << " job " << j;
                    ASSERT_EQ(plan->write_begin_s[j],
                              write.place(begin_s + jobs[j].compress_s, jobs[j].write_s))
                        << a << " grid " << grid_s << " round " << round << " job " << j;
                }
            }
        }
    }
}

// Goal: no schedule beats the bound that holds for every schedule: both lanes' work, plus what
// must come before the first write or after the last compression, plus obstacles inside.
TEST(Appended, never_ends_before_the_lower_bound) {
    RecordProperty("seed", static_cast<int>(k_planners_seed));
    InstanceMaker maker(k_planners_seed + 2, 0.125);
    const auto covered = [](std::span<const Interval> obstacles, double from_s, double to_s) {
        double sum_s = 0.0;
        for (const Interval& o : obstacles)
            sum_s += std::max(0.0, std::min(o.end_s, to_s) - std::max(o.begin_s, from_s));
        return sum_s;
    };
    for (int round = 0; round < 300; ++round) {
        const auto [jobs, obstacles] = maker.make(1 + maker.below(20), maker.below(8), 0.05);
        double compress_s = 0.0, write_s = 0.0, least_compress_s = 1e9, least_write_s = 1e9;
        for (const Job& job : jobs) {
            compress_s += job.compress_s;
            write_s += job.write_s;
            least_compress_s = std::min(least_compress_s, job.compress_s);
            least_write_s = std::min(least_write_s, job.write_s);
        }
        for (const std::string_view a : k_appended) {
            const double end_s = schedule(a, jobs, obstacles)->end_s;
            ASSERT_GE(end_s, compress_s + least_write_s);
            ASSERT_GE(end_s, least_compress_s + write_s);
            const double last_compress_s = end_s - least_write_s;
            ASSERT_GE(last_compress_s - covered(obstacles.compress, 0.0, last_compress_s),
                      compress_s);
            ASSERT_GE(end_s - least_compress_s - covered(obstacles.write, least_compress_s, end_s),
                      write_s);
        }
    }
}

// Goal: S0 §3.3.1's remark: compressions of the first Johnson set start at the same time with and
// without backfilling, because they come by increasing length, so no skipped gap holds a later one.
TEST(Appended, backfilling_leaves_the_first_set_alone) {
    RecordProperty("seed", static_cast<int>(k_planners_seed));
    InstanceMaker maker(k_planners_seed + 4, 0.0);
    for (int round = 0; round < 200; ++round) {
        const auto [jobs, obstacles] = maker.make(15, 8, 0.05);
        const auto plain = schedule("ext_johnson", jobs, obstacles);
        const auto filled = schedule("ext_johnson_backfill", jobs, obstacles);
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (jobs[j].compress_s <= jobs[j].write_s) {
                ASSERT_EQ(plain->compress_begin_s[j], filled->compress_begin_s[j]);
            }
    }
}

// Goal: a compression that obstacles suspend ends no later than one that they exclude, in the same
// order, and its plan ends no later either where nothing else changes.
TEST(Appended, compressions_end_no_later_in_the_same_order) {
    RecordProperty("seed", static_cast<int>(k_planners_seed + 2));
    InstanceMaker maker(k_planners_seed + 2, 0.125);
    for (int round = 0; round < 100; ++round) {
        const auto [jobs, obstacles] = maker.make(maker.below(20), maker.below(12), 0.1);
        Rules resumable;
        resumable.resumable = true;
        for (const std::string_view a : {"ext_johnson", "generation_list"}) {
            const auto excluded = schedule(a, jobs, obstacles);
            const auto suspended = schedule(a, jobs, obstacles, resumable);
            for (std::size_t j = 0; j < jobs.size(); ++j)
                ASSERT_LE(suspended->compress_end_s[j], excluded->compress_end_s[j]) << j;
            ASSERT_LE(suspended->end_s, excluded->end_s);
        }
    }
}

TEST(Appended, without_jobs_ends_at_zero) {
    for (const std::string_view a : k_appended) {
        const auto plan = schedule(a, {}, Obstacles{{{0, 5}}, {{1, 2}}});
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->end_s, 0.0);
        EXPECT_TRUE(plan->compress_begin_s.empty());
    }
}

// Goal: what no time is defined sanely. An obstacle of no length excludes nothing; a task of no
// length sits on a boundary, not inside an obstacle.
TEST(Appended, handles_zero_lengths) {
    const Obstacles point{{{0.5, 0.5}}, {{1, 1}, {1.5, 1.5}}};
    const Obstacles wall{{{0, 2}, {2, 3}}, {{1, 4}}};
    for (const std::string_view a : k_appended) {
        const auto through = schedule(a, std::vector<Job>{{1, 2}}, point);
        ASSERT_TRUE(through.ok()) << through.status().message();
        EXPECT_EQ(through->compress_begin_s[0], 0.0);
        EXPECT_EQ(through->write_begin_s[0], 1.0);
        const auto edge = schedule(a, std::vector<Job>{{0, 0}, {1, 0}, {0, 1}}, wall);
        ASSERT_TRUE(edge.ok());
        EXPECT_TRUE(check(*edge, std::vector<Job>{{0, 0}, {1, 0}, {0, 1}}, wall).ok());
        // These places are those of an order that begins with job 0.
        if (a == "insertion") continue;
        EXPECT_EQ(edge->compress_begin_s[0], 0.0);  // the begin of the obstacle at 0
        EXPECT_EQ(edge->compress_begin_s[1], 3.0);
        EXPECT_EQ(edge->write_begin_s[1], 4.0);
    }
}

// Goal: input that cannot be right is refused with its place and value.
TEST(Appended, refuses_invalid_input_by_name) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    struct Case {
        std::vector<Job> jobs;
        Obstacles obstacles;
        std::vector<std::string> words;
    };
    const std::vector<Case> cases = {
        {{{1, 1}, {-2.5, 1}}, {}, {"compress_s of job 1", "-2.5"}},
        {{{1, nan}}, {}, {"write_s of job 0", "nan"}},
        {{{inf, 1}}, {}, {"compress_s of job 0", "inf"}},
        {{{1, 1}}, {{{0, 1}, {3, 2}}, {}}, {"obstacle 1", "compress", "3", "2"}},
        {{{1, 1}}, {{}, {{nan, 1}}}, {"obstacle 0", "write", "nan"}},
        {{{1, 1}}, {{}, {{0, inf}}}, {"obstacle 0", "write", "inf"}},
        {{{1, 1}}, {{{4, 5}, {1, 2}}, {}}, {"obstacle 1", "compress", "sort"}},
        {{{1, 1}}, {{}, {{1, 3}, {2, 4}}}, {"obstacle 1", "write", "overlaps", "[1, 3)"}},
        {{{1, 1}}, {{}, {{1, 3}, {2, 2}, {2.5, 4}}}, {"obstacle 2", "write", "overlaps"}},
        {{{1e308, 1e308}}, {}, {"range of double"}},
    };
    for (const Case& c : cases) {
        for (const std::string_view a : k_appended) {
            const auto plan = schedule(a, c.jobs, c.obstacles);
            ASSERT_FALSE(plan.ok()) << c.words[0];
            EXPECT_EQ(plan.status().code(), StatusCode::invalid_argument);
            for (const auto& word : c.words)
                EXPECT_NE(plan.status().message().find(word), std::string::npos)
                    << word << " is missing in: " << plan.status().message();
        }
        EXPECT_FALSE(check({}, c.jobs, c.obstacles).ok());
    }
}

// Goal: no algorithm beats the optimum of all pairs of orders, and every plan is legal. Both kinds
// of compression.
TEST(Planners, stand_beside_the_optimum_of_all_pairs_of_orders) {
    RecordProperty("seed", static_cast<int>(k_planners_seed));
    for (const bool resumable : {false, true}) {
        InstanceMaker maker(k_planners_seed, 0.125);
        for (int round = 0; round < 60; ++round) {
            const Instance in = maker.make(1 + maker.below(5), maker.below(5), 0.05);
            const double best_s = optimum_s(in, resumable);
            Rules rules;
            rules.resumable = resumable;
            rules.search_steps = 2'000;
            for (const std::string_view a : k_algorithms) {
                const auto made = schedule(a, in.jobs, in.obstacles, rules);
                ASSERT_TRUE(made.ok()) << made.status().message();
                const Status legal = check(*made, in.jobs, in.obstacles, rules);
                ASSERT_TRUE(legal.ok()) << a << ": " << legal.message();
                ASSERT_GE(made->end_s, best_s) << a << " round " << round;
            }
        }
    }
}

// Goal: in a world as expected every schedule happens to the last bit. Tasks that take no time have
// no order among themselves where they share a moment, so only the end is held to then.
TEST(Planners, a_world_as_expected_gives_the_planned_schedule) {
    RecordProperty("seed", static_cast<int>(k_planners_seed + 5));
    for (const double grid_s : {0.25, 0.0}) {
        InstanceMaker maker(k_planners_seed + 5, grid_s);
        for (int round = 0; round < 150; ++round) {
            const bool has_zeros = round % 3 == 0;
            const Instance in = maker.make(maker.below(15), maker.below(10), has_zeros ? 0.3 : 0.0);
            for (const bool resumable : {false, true}) {
                Rules rules;
                rules.resumable = resumable;
                rules.search_steps = 0;
                for (const std::string_view a : k_algorithms) {
                    const auto made = schedule(a, in.jobs, in.obstacles, rules);
                    const auto done = execute(orders_of(*made, in.jobs), in.jobs, in.obstacles,
                                              in.jobs, in.obstacles, rules);
                    ASSERT_TRUE(done.ok()) << done.status().message();
                    ASSERT_EQ(done->delay_s, 0.0) << a << " round " << round;
                    if (has_zeros) {
                        ASSERT_LE(done->schedule.end_s, made->end_s) << a << " round " << round;
                        continue;
                    }
                    ASSERT_EQ(done->schedule.compress_begin_s, made->compress_begin_s) << a;
                    ASSERT_EQ(done->schedule.compress_end_s, made->compress_end_s) << a;
                    ASSERT_EQ(done->schedule.write_begin_s, made->write_begin_s) << a;
                    ASSERT_EQ(done->schedule.end_s, made->end_s) << a;
                }
            }
        }
    }
}

// Goal: those of the product come from the product, by the same name, and the others are named.
TEST(Planners, are_those_of_the_product_and_five_more) {
    const auto known = [](std::string_view name) {
        return std::find(std::begin(k_algorithms), std::end(k_algorithms), name) !=
               std::end(k_algorithms);
    };
    for (const Algorithm a : plan::k_algorithms) EXPECT_TRUE(known(to_string(a)));
    EXPECT_EQ(std::size(k_algorithms), std::size(plan::k_algorithms) + 5);
    const Instance in = InstanceMaker(k_planners_seed + 6, 0.0).make(12, 6, 0.0);
    for (const std::string_view a : k_algorithms) {
        EXPECT_TRUE(check_name(a).ok());
        EXPECT_EQ(schedule(a, {}, {})->end_s, 0.0);
    }
    EXPECT_EQ(schedule("default", in.jobs, in.obstacles)->write_begin_s,
              plan::schedule(plan::k_default_algorithm, in.jobs, in.obstacles)->write_begin_s);
    const auto unknown = schedule("magic", in.jobs, in.obstacles);
    ASSERT_FALSE(unknown.ok());
    for (const char* word : {"'magic'", "default", "insertion_backfill", "two_lists_greedy"})
        EXPECT_NE(unknown.status().message().find(word), std::string::npos) << word;
}

// Goal: S0's greedies against their definition: every trial done anew by hand.
TEST(Greedy, keeps_the_best_of_all_positions) {
    RecordProperty("seed", static_cast<int>(k_planners_seed + 3));
    InstanceMaker maker(k_planners_seed + 3, 0.125);
    const auto inserted = [](Order order, std::size_t at, std::size_t job) {
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), job);
        return order;
    };
    for (int round = 0; round < 40; ++round) {
        const Instance in = maker.make(maker.below(8), maker.below(6), 0.1);
        for (const bool resumable : {false, true}) {
            Rules rules;
            rules.resumable = resumable;
            Order one, compress, write;
            double one_s = 0.0, two_s = 0.0;
            for (std::size_t j = 0; j < in.jobs.size(); ++j) {
                Order best_one, best_compress, best_write;
                one_s = two_s = std::numeric_limits<double>::infinity();
                for (std::size_t p = 0; p <= j; ++p) {
                    const Order trial = inserted(one, p, j);
                    const double end_s = end_of_orders_s(in, trial, trial, resumable);
                    if (end_s < one_s) one_s = end_s, best_one = trial;
                    for (std::size_t q = 0; q <= j; ++q) {
                        const Order c = inserted(compress, p, j), w = inserted(write, q, j);
                        const double both_s = end_of_orders_s(in, c, w, resumable);
                        if (both_s < two_s) two_s = both_s, best_compress = c, best_write = w;
                    }
                }
                one = best_one, compress = best_compress, write = best_write;
            }
            ASSERT_EQ(schedule("one_list_greedy", in.jobs, in.obstacles, rules)->end_s, one_s);
            ASSERT_EQ(schedule("two_lists_greedy", in.jobs, in.obstacles, rules)->end_s, two_s);
        }
    }
}

}  // namespace
}  // namespace caesura::lab
