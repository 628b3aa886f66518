// Goal: the device that ends first is taken, whatever is loaded, queued, slow, or gone.
#include "where/placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace caesura::where {
namespace {

constexpr unsigned k_placer_seed = 20261124;

/// A device of stated speeds.
struct Stated {
    double link_bytes_per_s, fixed_s, bytes_per_s, load = 3.0;
    double slower = 1.0;
    Run run(double bytes, double utilisation) const {
        Run run;
        run.bytes = bytes;
        run.result_bytes = bytes / 4;
        run.utilisation = utilisation;
        const double busy = std::pow(utilisation, 3);
        run.compute_s = slower * (fixed_s + bytes / bytes_per_s) * (1.0 + load * busy);
        if (link_bytes_per_s > 0.0) {
            run.to_s = bytes / link_bytes_per_s;
            run.from_s = bytes / 4 / link_bytes_per_s;
        }
        return run;
    }
};
double seconds(const Run& run) { return run.to_s + run.compute_s + run.from_s; }

/// Devices and a placer, one request after the other.
struct PlacerWorld {
    std::vector<Stated> devices{
        {0.0, 1e-4, 2e8, 8.0}, {4e9, 2e-4, 1e9, 3.0}, {1e9, 1e-3, 8e8, 0.0}};
    std::mt19937_64 random{k_placer_seed};
    Placer placer;
    explicit PlacerWorld(Rule rule = Rule::model) : placer({rule}) {
        for (const char* name : {"cpu", "gpu", "remote"}) placer.add(name, 1);
    }
    double noise() { return std::exp(std::normal_distribution<double>(0.0, 0.05)(random)); }
    double uniform(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    }
    struct Served {
        std::size_t device;
        double took_s, best_s;
    };
    Served serve(double bytes, const std::array<double, 3>& busy) {
        const Request request{"v", "f", bytes};
        std::vector<Present> present(3);
        std::vector<Run> runs;
        double best_s = 1e9;
        for (std::size_t i = 0; i < 3; ++i) {
            present[i].utilisation = busy[i];
            runs.push_back(devices[i].run(bytes, busy[i]));
            runs[i].compute_s *= noise();
            best_s = std::min(best_s, seconds(runs[i]));
        }
        const auto decision = placer.choose(request, present, 0.0);
        const Run& run = runs[decision->device];
        placer.done(request, *decision, run, seconds(run));
        return {decision->device, seconds(run), best_s};
    }
};

TEST(Placer, is_near_the_best_in_hindsight_under_loads_that_change) {
    RecordProperty("seed", static_cast<int>(k_placer_seed));
    PlacerWorld world;
    double took_s = 0.0, best_s = 0.0;
    for (int i = 0; i < 1500; ++i) {
        const double bytes = std::exp2(world.uniform(17.0, 23.0));
        const auto served = world.serve(bytes, {world.uniform(0, 1), world.uniform(0, 1), 0.0});
        if (i < 300) continue;  // it is learning
        took_s += served.took_s;
        best_s += served.best_s;
    }
    EXPECT_LT(took_s, 1.05 * best_s);
}

TEST(Placer, recovers_within_ten_requests_when_a_device_becomes_four_times_slower) {
    PlacerWorld world;
    for (int i = 0; i < 300; ++i) (void)world.serve(std::exp2(world.uniform(20, 23)), {0, 0, 0});
    ASSERT_EQ(world.serve(4e6, {0, 0, 0}).device, 1u);
    world.devices[1].slower = 4.0;
    for (int i = 0; i < 10; ++i) (void)world.serve(4e6, {0, 0, 0});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(world.serve(4e6, {0, 0, 0}).device, 2u) << i;
}

TEST(Placer, what_waits_at_a_device_counts) {
    PlacerWorld world;
    for (int i = 0; i < 200; ++i) (void)world.serve(4e6, {0, 0, 0});
    const Request request{"v", "f", 4e6};
    std::vector<Present> present(3);
    EXPECT_EQ(world.placer.choose(request, present, 0.0)->device, 1u);
    present[1].waiting = 8;
    present[1].waiting_s = 8 * 0.005;
    const auto decision = world.placer.choose(request, present, 0.0);
    EXPECT_NE(decision->device, 1u);
    EXPECT_NEAR(decision->options[1].queue_s, 8 * 0.005, 1e-9);
}

TEST(Placer, what_several_workers_have_is_no_queue_until_all_are_at_work) {
    Present present;
    present.waiting = 1;
    present.waiting_s = 1.0;
    EXPECT_EQ(queue_s(present, 2, 0.0), 0.0);
    EXPECT_EQ(queue_s(present, 1, 0.0), 1.0);
    present.running_since_s = 10.0;
    EXPECT_NEAR(queue_s(present, 1, 10.25), 0.75, 1e-12);
    EXPECT_EQ(queue_s(present, 1, 11.0), 0.0);
    EXPECT_NEAR(queue_s(present, 1, 14.0), 3.0, 1e-12) << "it is late by so much";
    present.waiting = 4;
    present.waiting_s = 4.0;
    EXPECT_NEAR(queue_s(present, 2, 0.0), 1.5, 1e-12);
}

TEST(Placer, a_device_that_has_failed_is_tried_again_after_longer_and_longer_pauses) {
    PlacerWorld world;
    for (int i = 0; i < 200; ++i) (void)world.serve(4e6, {0, 0, 0});
    const Request request{"v", "f", 4e6};
    const std::vector<Present> present(3);
    world.placer.failed(1, 100.0);
    EXPECT_NE(world.placer.choose(request, present, 100.5)->device, 1u);
    EXPECT_EQ(world.placer.choose(request, present, 101.1)->device, 1u);
    world.placer.failed(1, 101.1);
    EXPECT_NE(world.placer.choose(request, present, 103.0)->device, 1u);
    EXPECT_EQ(world.placer.choose(request, present, 103.2)->device, 1u);
    world.placer.failed(0, 103.2);
    EXPECT_EQ(world.placer.paused_until_s(0), 0.0) << "the host's cores";
}

TEST(Placer, data_that_lie_in_a_device_need_no_way_there) {
    PlacerWorld world;
    world.devices[1] = {1e9, 2e-4, 1e9, 0.0};
    for (int i = 0; i < 300; ++i) (void)world.serve(4e6, {0, 0, 0});
    Request request{"v", "f", 4e6};
    const std::vector<Present> present(3);
    const auto from_host = world.placer.choose(request, present, 0.0);
    request.from = 1;
    const auto from_device = world.placer.choose(request, present, 0.0);
    EXPECT_EQ(from_device->options[1].expected.to_s, 0.0);
    EXPECT_GT(from_device->options[0].expected.to_s, 0.0) << "the host has to fetch them";
    EXPECT_LT(from_device->options[1].latency_s, from_host->options[1].latency_s);
    request.is_on_host_too = true;
    const auto from_both = world.placer.choose(request, present, 0.0);
    EXPECT_EQ(from_both->options[0].expected.to_s, 0.0);
    EXPECT_EQ(from_both->options[1].expected.to_s, 0.0);
    EXPECT_EQ(from_both->options[2].expected.to_s, from_host->options[2].expected.to_s);
}

TEST(Placer, what_fetching_from_a_device_takes_is_learned) {
    PlacerWorld world;
    const std::vector<Present> present(3);
    Request request{"v", "f", 4e6};
    request.from = 1;
    for (int i = 0; i < 20; ++i) world.placer.fetched(1, 4e6, 0.125);
    EXPECT_NEAR(world.placer.options(request, present, 0.0)[0].expected.to_s, 0.125, 0.01);
}

TEST(Placer, the_running_average_takes_each_once_and_then_the_quickest) {
    PlacerWorld world(Rule::average);
    std::vector<std::size_t> first;
    for (int i = 0; i < 3; ++i) first.push_back(world.serve(4e6, {0, 0, 0}).device);
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, (std::vector<std::size_t>{0, 1, 2}));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(world.serve(4e6, {0, 0, 0}).device, 1u);
    // It knows nothing of load.
    EXPECT_EQ(world.serve(4e6, {0, 1.0, 0}).device, 1u);
}

}  // namespace
}  // namespace caesura::where
