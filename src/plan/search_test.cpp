#include <gtest/gtest.h>

#include <algorithm>

#include "plan/instances.hpp"
#include "plan/orders.hpp"

namespace caesura::plan {
namespace {

constexpr unsigned k_search_seed = 20240501;

// When the writes end if both lanes keep to these orders, each task as early as it may: nothing
// earlier exists for this pair of orders. Written from the definition.
double end_of_orders_s(const Instance& in, const Order& compress, const Order& write,
                       bool resumable) {
    const auto clear_s = [](std::span<const Interval> obstacles, double at_s, double duration_s) {
        for (const Interval& o : obstacles)
            if (at_s < o.end_s && o.begin_s < at_s + duration_s && o.begin_s < o.end_s)
                at_s = o.end_s;
        return at_s;
    };
    std::vector<double> ready_s(in.jobs.size());
    double at_s = 0.0;
    for (const std::size_t j : compress) {
        double left_s = in.jobs[j].compress_s;
        if (resumable) {
            for (const Interval& o : in.obstacles.compress) {
                if (o.end_s <= at_s || !(o.begin_s < o.end_s)) continue;
                const double room_s = std::max(0.0, o.begin_s - at_s);
                if (left_s <= room_s && !(left_s == 0.0 && o.begin_s < at_s)) break;
                left_s -= room_s;
                at_s = o.end_s;
            }
        } else {
            at_s = clear_s(in.obstacles.compress, at_s, left_s);
        }
        ready_s[j] = at_s += left_s;
    }
    at_s = 0.0;
    for (const std::size_t j : write) {
        at_s = clear_s(in.obstacles.write, std::max(at_s, ready_s[j]), in.jobs[j].write_s);
        at_s += in.jobs[j].write_s;
    }
    return in.jobs.empty() ? 0.0 : at_s;
}

// Over all pairs of orders: obstacles can make different orders optimal.
double optimum_s(const Instance& in, bool resumable) {
    double best_s = in.jobs.empty() ? 0.0 : std::numeric_limits<double>::infinity();
    Order compress = generation_order(in.jobs.size());
    do {
        Order write = generation_order(in.jobs.size());
        do {
            best_s = std::min(best_s, end_of_orders_s(in, compress, write, resumable));
        } while (std::next_permutation(write.begin(), write.end()));
    } while (std::next_permutation(compress.begin(), compress.end()));
    return best_s;
}

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

// Goal: a compression that obstacles suspend ends no later than one that they exclude, in the same
// order, and its plan ends no later either where nothing else changes.
TEST(Resumable, compressions_end_no_later_in_the_same_order) {
    RecordProperty("seed", static_cast<int>(k_search_seed + 2));
    InstanceMaker maker(k_search_seed + 2, 0.125);
    for (int round = 0; round < 100; ++round) {
        const auto [jobs, obstacles] = maker.make(maker.below(20), maker.below(12), 0.1);
        Rules resumable;
        resumable.resumable = true;
        for (const Algorithm a : {Algorithm::ext_johnson, Algorithm::generation_list}) {
            const auto excluded = schedule(a, jobs, obstacles);
            const auto suspended = schedule(a, jobs, obstacles, resumable);
            for (std::size_t j = 0; j < jobs.size(); ++j)
                ASSERT_LE(suspended->compress_end_s[j], excluded->compress_end_s[j]) << j;
            ASSERT_LE(suspended->end_s, excluded->end_s);
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
    const auto plan = schedule(Algorithm::generation_list, jobs, obstacles, rules);
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

// Goal: S0's greedies against their definition: every trial done anew by hand.
TEST(Greedy, keeps_the_best_of_all_positions) {
    RecordProperty("seed", static_cast<int>(k_search_seed + 3));
    InstanceMaker maker(k_search_seed + 3, 0.125);
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
            ASSERT_EQ(schedule(Algorithm::one_list_greedy, in.jobs, in.obstacles, rules)->end_s,
                      one_s);
            ASSERT_EQ(schedule(Algorithm::two_lists_greedy, in.jobs, in.obstacles, rules)->end_s,
                      two_s);
        }
    }
}

}  // namespace
}  // namespace caesura::plan
