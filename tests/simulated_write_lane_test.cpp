// Goal: the simulator's write lane decides as the Writer's does; neither room may know the other.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "run/write_policy.hpp"
#include "simulate/write_choice.hpp"

namespace caesura {
namespace {

TEST(SimulatedWriteLane, decides_as_the_writers) {
    std::mt19937 random(20261121);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    int writes = 0, waits = 0, later_ones = 0;
    for (int trial = 0; trial < 20'000; ++trial) {
        run::WriteView real;
        std::vector<std::uint64_t> bytes(1 + random() % 6);
        for (std::uint64_t& b : bytes)
            b = 1 + static_cast<std::uint64_t>(4e6 * std::pow(unit(random), 3));
        real.now_s = unit(random);
        real.planning = random() % 8 != 0;
        real.draining = random() % 8 == 0;
        real.application_writes = random() % 8 == 0;
        real.more_coming = random() % 2 == 0;
        real.oldest_wait_s = unit(random);
        real.patience_s = 0.2 + unit(random);
        real.buffer_bytes = 1 + random() % 8'000'000;
        real.cost = {1e-3 * unit(random), 1e7 * (0.5 + unit(random))};
        const std::vector<plan::Interval> obstacles{{unit(random), 2.0}};
        if (random() % 4 != 0) real.obstacles = obstacles;
        real.ready_bytes = bytes;

        simulate::WriteView view;
        const std::vector<double> ready(bytes.begin(), bytes.end());
        view.now_s = real.now_s;
        view.planning = real.planning;
        view.draining = real.draining;
        view.application_on = real.application_writes;
        if (!real.obstacles.empty())
            view.gap = {std::max(0.0, obstacles[0].begin_s - real.now_s), obstacles[0].end_s};
        view.ready = ready;
        view.more_coming = real.more_coming;
        view.oldest_wait_s = real.oldest_wait_s;
        view.patience_s = real.patience_s;
        view.buffer_bytes = static_cast<double>(real.buffer_bytes);
        view.small_bytes = 1u << 20;
        view.latency_s = real.cost.latency_s;
        view.bytes_per_s = real.cost.bytes_per_s;

        const run::WriteDecision expected = run::decide_write(real);
        const simulate::WriteChoice found = simulate::choose_write(view);
        ASSERT_EQ(found.take, expected.take) << "trial " << trial;
        if (expected.take > 0) {
            ASSERT_EQ(found.first, expected.first) << "trial " << trial;
        }
        // The simulated lane also wakes when its patience ends; the Writer's at the next event.
        ASSERT_EQ(found.again_s < 0.0, expected.wait_until_s < 0.0) << "trial " << trial;
        ASSERT_LE(found.again_s, std::max(expected.wait_until_s, -1.0)) << "trial " << trial;
        writes += expected.take > 0;
        waits += expected.take == 0;
        later_ones += expected.take > 0 && expected.first > 0;
    }
    EXPECT_GT(writes, 1000);
    EXPECT_GT(waits, 1000);
    EXPECT_GT(later_ones, 100);
}

}  // namespace
}  // namespace caesura
