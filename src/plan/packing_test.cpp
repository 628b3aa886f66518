// Tasks packed into gaps that hold little more than all of them.
#include "plan/packing.hpp"

#include <gtest/gtest.h>

namespace caesura::plan {
namespace {

constexpr unsigned k_packing_seed = 20261123;

// Jobs whose compressions fill the gaps before the last obstacle but for a hundredth.
struct Tight {
    std::vector<Job> jobs;
    Obstacles obstacles;
    double full_s = 0.0;  // begin of the obstacle before which all compressions fit
};

Tight tight_problem(Random& random) {
    Tight in;
    double at_s = 0.0;
    for (int gap = 0; gap < 6; ++gap) {
        double sum_s = 0.0;
        for (std::size_t i = 0, n = 1 + below(random, 6); i < n; ++i) {
            in.jobs.push_back({1.0 + share(random), 0.1});
            sum_s += in.jobs.back().compress_s;
        }
        at_s += sum_s * 1.01;
        in.full_s = at_s;
        in.obstacles.compress.push_back({at_s, at_s + (gap == 5 ? 20.0 : 1.0)});
        at_s += 1.0;
    }
    for (std::size_t i = in.jobs.size(); i > 1; --i)
        std::swap(in.jobs[i - 1], in.jobs[below(random, i)]);
    return in;
}

// Goal: whatever the packer says fits does fit, and where a packing exists it finds one in most of
// the problems within some thousand tries.
TEST(TightPacker, finds_packings_and_never_overfills_a_gap) {
    RecordProperty("seed", static_cast<int>(k_packing_seed));
    Random random(k_packing_seed);
    int found = 0;
    for (int round = 0; round < 20; ++round) {
        const Tight in = tight_problem(random);
        const Gaps idle(in.obstacles.compress, 0);
        const PackingLane lane(in.jobs, &Job::compress_s, idle.idle());
        const auto gaps = gaps_between(lane.gaps, 0.0, in.full_s);
        const double slack_s = total_s(gaps) - lane.total_s;
        ASSERT_GE(slack_s, 0.0);
        TightPacker packer(lane);
        bool packed = false;
        for (int i = 0; i < 5'000 && !packed; ++i) packed = packer.try_once(gaps, slack_s, random);
        if (!packed) continue;
        ++found;
        std::vector<double> used_s(gaps.size(), 0.0);
        for (std::size_t j = 0; j < in.jobs.size(); ++j)
            used_s[packer.gap_of()[j]] += in.jobs[j].compress_s;
        for (std::size_t g = 0; g < gaps.size(); ++g)
            ASSERT_LE(used_s[g], (gaps[g].end_s - gaps[g].begin_s) * (1.0 + 1e-12));
    }
    EXPECT_GE(found, 15);
}

// Goal: what a tight packing is for. The last compression fits before a long obstacle only if the
// gaps are filled almost without waste: the search sees to it, ExtJohnson+BF never does.
TEST(Search, gets_the_last_compression_in_before_a_long_obstacle) {
    RecordProperty("seed", static_cast<int>(k_packing_seed + 1));
    Random random(k_packing_seed + 1);
    int searched = 0, simple = 0;
    for (int round = 0; round < 20; ++round) {
        const Tight in = tight_problem(random);
        Rules rules;
        rules.search_steps = 3'000'000;
        const double late_s = in.full_s + 20.0;
        searched += schedule(Algorithm::search, in.jobs, in.obstacles, rules)->end_s < late_s;
        simple += schedule(Algorithm::ext_johnson_backfill, in.jobs, in.obstacles)->end_s < late_s;
    }
    EXPECT_GE(searched, 15);
    EXPECT_LE(simple, 3);
}

// Goal: refilling is a change of the order and nothing else: the same jobs, once each.
TEST(Refill, permutes_the_order) {
    RecordProperty("seed", static_cast<int>(k_packing_seed + 2));
    Random random(k_packing_seed + 2);
    const Tight in = tight_problem(random);
    const Gaps idle(in.obstacles.compress, 0);
    const PackingLane lane(in.jobs, &Job::compress_s, idle.idle());
    Refill refill(lane);
    Order order = generation_order(in.jobs.size());
    const auto plan = place(order, in.jobs, in.obstacles, false);
    bool changed = false;
    for (int round = 0; round < 200; ++round) {
        ASSERT_TRUE(refill.run(order, plan.compress_begin_s, plan.end_s, random));
        changed = changed || order != generation_order(order.size());
        Order sorted = order;
        std::sort(sorted.begin(), sorted.end());
        ASSERT_EQ(sorted, generation_order(order.size()));
    }
    EXPECT_TRUE(changed);
}

}  // namespace
}  // namespace caesura::plan
