#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/references.hpp"

namespace caesura::plan {
namespace {

// Those that are an order and one placing rule; for the other see search_test.cpp.
constexpr Algorithm k_lists[] = {Algorithm::ext_johnson_backfill,
                                 Algorithm::generation_list_backfill,
                                 Algorithm::insertion_backfill};
constexpr unsigned k_when_seed = 20240422;

Order reference_order(Algorithm algorithm, std::span<const Job> jobs) {
    if (algorithm == Algorithm::ext_johnson_backfill) return johnson_by_definition(jobs);
    // Held to the paper in insertion_test.cpp.
    return algorithm == Algorithm::insertion_backfill ? insertion_order(jobs)
                                                      : generation_order(jobs.size());
}

// Goal: the paper's own example, to the second. Jobs are numbered from 0 here. Without backfilling:
// lab/planners.
TEST(Schedule, figure_1_of_s0_with_backfilling) {
    const std::vector<Job> jobs = {{1, 2}, {2, 1}, {2, 2}, {3, 2}};
    const Obstacles obstacles{{{3, 4}, {6, 7}}, {{4, 5}}};
    const auto filled = schedule(Algorithm::ext_johnson_backfill, jobs, obstacles);
    ASSERT_TRUE(filled.ok()) << filled.status().message();
    // Job 2 goes before job 4 in both lanes; job 4 stays where it was.
    EXPECT_EQ(filled->compress_begin_s, (std::vector<double>{0, 4, 1, 7}));
    EXPECT_EQ(filled->write_begin_s, (std::vector<double>{1, 7, 5, 10}));
    EXPECT_EQ(filled->end_s, 12.0);
}

// Goal: without obstacles Johnson's order is optimal.
TEST(Schedule, johnson_is_optimal_without_obstacles) {
    RecordProperty("seed", static_cast<int>(k_when_seed));
    InstanceMaker maker(k_when_seed, 0.125);
    for (int round = 0; round < 300; ++round) {
        const auto jobs = maker.make(maker.below(7), 0, 0.1).jobs;
        const double optimum_s = jobs.empty() ? 0.0 : brute_force_optimum_s(jobs);
        const auto plan = schedule(Algorithm::ext_johnson_backfill, jobs, {});
        ASSERT_TRUE(plan.ok());
        ASSERT_EQ(plan->end_s, optimum_s) << "round " << round;
    }
}

// Goal: every task gets exactly the earliest legal place that its algorithm's rule leaves, and
// check() finds nothing, on a grid (ties, touching intervals, zero lengths) and on real numbers.
TEST(Schedule, gives_every_task_its_earliest_legal_place) {
    RecordProperty("seed", static_cast<int>(k_when_seed));
    for (const double grid_s : {0.25, 0.0}) {
        InstanceMaker maker(k_when_seed + 1, grid_s);
        for (int round = 0; round < 400; ++round) {
            const auto [jobs, obstacles] =
                maker.make(maker.below(25), maker.below(10), round % 3 == 0 ? 0.3 : 0.0);
            for (const Algorithm a : k_lists) {
                const auto plan = schedule(a, jobs, obstacles);
                ASSERT_TRUE(plan.ok()) << plan.status().message();
                const Status legal = check(*plan, jobs, obstacles);
                ASSERT_TRUE(legal.ok()) << to_string(a) << ": " << legal.message();
                ReferenceLane compress(obstacles.compress, true);
                ReferenceLane write(obstacles.write, true);
                for (const std::size_t j : reference_order(a, jobs)) {
                    const double begin_s = compress.place(0.0, jobs[j].compress_s);
                    ASSERT_EQ(plan->compress_begin_s[j], begin_s)
                        << to_string(a) << " grid " << grid_s << " round " << round << " job " << j;
                    ASSERT_EQ(plan->write_begin_s[j],
                              write.place(begin_s + jobs[j].compress_s, jobs[j].write_s))
                        << to_string(a) << " grid " << grid_s << " round " << round << " job " << j;
                }
            }
        }
    }
}

// Goal: no schedule beats the bound that holds for every schedule: both lanes' work, plus what
// must come before the first write or after the last compression, plus obstacles inside.
TEST(Schedule, never_ends_before_the_lower_bound) {
    RecordProperty("seed", static_cast<int>(k_when_seed));
    InstanceMaker maker(k_when_seed + 2, 0.125);
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
        for (const Algorithm a : k_lists) {
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

// Goal: backfilling never moves what is placed: the schedule of the first k jobs is the first k
// entries of the schedule of all.
TEST(Schedule, later_jobs_never_move_placed_ones) {
    RecordProperty("seed", static_cast<int>(k_when_seed));
    InstanceMaker maker(k_when_seed + 3, 0.0);
    for (int round = 0; round < 100; ++round) {
        const auto [jobs, obstacles] = maker.make(12, 6, 0.1);
        const auto all = schedule(Algorithm::generation_list_backfill, jobs, obstacles);
        for (std::size_t k = 0; k < jobs.size(); ++k) {
            const auto some =
                schedule(Algorithm::generation_list_backfill, std::span(jobs).first(k), obstacles);
            for (std::size_t j = 0; j < k; ++j) {
                ASSERT_EQ(some->compress_begin_s[j], all->compress_begin_s[j]);
                ASSERT_EQ(some->write_begin_s[j], all->write_begin_s[j]);
            }
        }
    }
}

TEST(Schedule, without_jobs_ends_at_zero) {
    for (const Algorithm a : k_lists) {
        const auto plan = schedule(a, {}, Obstacles{{{0, 5}}, {{1, 2}}});
        ASSERT_TRUE(plan.ok());
        EXPECT_EQ(plan->end_s, 0.0);
        EXPECT_TRUE(plan->compress_begin_s.empty());
    }
}

// Goal: what no time is defined sanely. An obstacle of no length excludes nothing; a task of no
// length sits on a boundary, not inside an obstacle.
TEST(Schedule, handles_zero_lengths) {
    const Obstacles point{{{0.5, 0.5}}, {{1, 1}, {1.5, 1.5}}};
    const Obstacles wall{{{0, 2}, {2, 3}}, {{1, 4}}};
    for (const Algorithm a : k_lists) {
        const auto through = schedule(a, std::vector<Job>{{1, 2}}, point);
        ASSERT_TRUE(through.ok()) << through.status().message();
        EXPECT_EQ(through->compress_begin_s[0], 0.0);
        EXPECT_EQ(through->write_begin_s[0], 1.0);
        const auto edge = schedule(a, std::vector<Job>{{0, 0}, {1, 0}, {0, 1}}, wall);
        ASSERT_TRUE(edge.ok());
        EXPECT_TRUE(check(*edge, std::vector<Job>{{0, 0}, {1, 0}, {0, 1}}, wall).ok());
        // These places are those of an order that begins with job 0.
        if (a == Algorithm::insertion_backfill) continue;
        EXPECT_EQ(edge->compress_begin_s[0], 0.0);  // the begin of the obstacle at 0
        EXPECT_EQ(edge->compress_begin_s[1], 3.0);
        EXPECT_EQ(edge->write_begin_s[1], 4.0);
    }
}

TEST(Schedule, names_every_algorithm) {
    EXPECT_EQ(to_string(Algorithm::ext_johnson_backfill), "ext_johnson_backfill");
    EXPECT_EQ(to_string(Algorithm::generation_list_backfill), "generation_list_backfill");
    EXPECT_EQ(to_string(Algorithm::search), "search");
    EXPECT_EQ(to_string(Algorithm::insertion_backfill), "insertion_backfill");
    for (const Algorithm a : k_algorithms) EXPECT_EQ(*algorithm_named(to_string(a)), a);
    const auto unknown = algorithm_named("magic");
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.status().message().find("'magic'"), std::string::npos);
    EXPECT_NE(unknown.status().message().find("insertion_backfill"), std::string::npos);
    const auto bad = schedule(static_cast<Algorithm>(99), {}, {});
    ASSERT_FALSE(bad.ok());
    EXPECT_NE(bad.status().message().find("99"), std::string::npos);
}

// Goal: input that cannot be right is refused with its place and value.
TEST(Schedule, refuses_invalid_input_by_name) {
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
        for (const Algorithm a : k_lists) {
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

}  // namespace
}  // namespace caesura::plan
