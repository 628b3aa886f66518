#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_write_model_seed = 20221113;

double relative_error(const WriteModel& model, std::uint64_t bytes, double true_s) {
    return std::fabs(model.predict_s(bytes) / true_s - 1.0);
}

// Goal: from noisy writes of many sizes both the latency and the throughput are found.
TEST(WriteModel, learns_latency_and_throughput) {
    RecordProperty("seed", static_cast<int>(k_write_model_seed));
    std::mt19937 random(k_write_model_seed);
    std::normal_distribution<double> noise(0.0, 0.05);
    struct Disk {
        double latency_s, bytes_per_s;
    };
    for (const Disk disk : {Disk{2e-4, 2e9}, Disk{20e-3, 1e9}, Disk{5e-3, 3e7}, Disk{0.0, 5e8}}) {
        WriteModel model;
        const auto true_s = [&](std::uint64_t bytes) {
            return disk.latency_s + static_cast<double>(bytes) / disk.bytes_per_s;
        };
        for (int i = 0; i < 100; ++i) {
            const std::uint64_t bytes = std::uint64_t{1} << (14 + random() % 12);  // 16 KB .. 32 MB
            model.learn(bytes, true_s(bytes) * (1.0 + noise(random)));
        }
        for (const std::uint64_t bytes : {100'000u, 1'000'000u, 10'000'000u, 30'000'000u})
            EXPECT_LT(relative_error(model, bytes, true_s(bytes)), 0.1)
                << disk.latency_s << " s + bytes / " << disk.bytes_per_s << ", " << bytes;
    }
}

// Goal: writes of one size say nothing about the split between latency and throughput, so that size
// is predicted well and other sizes stay in proportion.
TEST(WriteModel, a_single_size_scales_the_whole_line) {
    WriteModel model;
    const double small_before_s = model.predict_s(10'000);
    const double before_s = model.predict_s(8'000'000);
    for (int i = 0; i < 200; ++i) model.learn(8'000'000, 0.08);
    EXPECT_LT(relative_error(model, 8'000'000, 0.08), 0.01);
    EXPECT_NEAR(model.predict_s(10'000) / small_before_s, 0.08 / before_s, 0.2 * 0.08 / before_s);
}

TEST(WriteModel, the_first_write_already_sets_the_scale) {
    WriteModel model;
    model.learn(4'000'000, 0.4);
    EXPECT_LT(relative_error(model, 4'000'000, 0.4), 0.01);
    EXPECT_GT(model.predict_s(40'000'000), 0.4);
}

// Goal: one stalled write among many moves the prediction by less than a third.
TEST(WriteModel, one_stall_does_not_decide) {
    WriteModel model;
    for (int i = 0; i < 50; ++i) model.learn(8'000'000, 1e-3 + 8e-3);
    model.learn(8'000'000, 30.0);
    EXPECT_LT(relative_error(model, 8'000'000, 9e-3), 1.0 / 3.0);
    for (int i = 0; i < 40; ++i) model.learn(8'000'000, 1e-3 + 8e-3);
    EXPECT_LT(relative_error(model, 8'000'000, 9e-3), 0.05);
}

// Goal: a file system that stays ten times slower is believed within a few dozen writes.
TEST(WriteModel, follows_a_lasting_change) {
    WriteModel model;
    for (int i = 0; i < 50; ++i) model.learn(8'000'000, 9e-3);
    for (int i = 0; i < 60; ++i) model.learn(8'000'000, 90e-3);
    EXPECT_LT(relative_error(model, 8'000'000, 90e-3), 0.2);
}

// Goal: whatever is learned, predictions are finite, >= 0 and never fall with the size.
TEST(WriteModel, stays_sane_whatever_it_is_told) {
    RecordProperty("seed", static_cast<int>(k_write_model_seed));
    std::mt19937 random(k_write_model_seed + 1);
    const double inf = std::numeric_limits<double>::infinity();
    const double strange[] = {0.0, -1.0, std::nan(""), inf, -inf, 1e-300, 1e300};
    std::lognormal_distribution<double> duration(-5.0, 4.0);
    for (int round = 0; round < 50; ++round) {
        WriteModel model;
        for (int i = 0; i < 100; ++i) {
            const bool odd = random() % 5 == 0;
            const std::uint64_t bytes = random() % 10 == 0
                                            ? std::numeric_limits<std::uint64_t>::max()
                                            : random() % (1 << 26);
            model.learn(bytes, odd ? strange[random() % 7] : duration(random));
            double before_s = 0.0;
            for (std::uint64_t b = 0; b < 1'000'000'000; b = 3 * b + 1) {
                const double now_s = model.predict_s(b);
                ASSERT_TRUE(std::isfinite(now_s) && now_s >= before_s) << "round " << round;
                before_s = now_s;
            }
        }
    }
}

// Goal: a measured curve keeps its shape when the file system turns out three times slower today.
TEST(WriteModel, scales_the_curve_it_starts_from) {
    const WriteCurve curve{1e-3, {0.0, 1e7}, {2e-10, 4e-9}};
    WriteModel model(curve);
    for (const std::uint64_t bytes : {100'000u, 10'000'000u, 50'000'000u})
        EXPECT_DOUBLE_EQ(model.predict_s(bytes), curve.predict_s(static_cast<double>(bytes)));
    for (int i = 0; i < 40; ++i)
        for (const std::uint64_t bytes : {1'000'000u, 10'000'000u})
            model.learn(bytes, 3.0 * curve.predict_s(static_cast<double>(bytes)));
    EXPECT_LT(relative_error(model, 50'000'000, 3.0 * curve.predict_s(5e7)), 0.05);
}

TEST(WriteModel, passes_over_durations_that_cannot_be_right) {
    WriteModel model;
    const double before_s = model.predict_s(1'000'000);
    model.learn(1'000'000, -1.0);
    model.learn(1'000'000, std::nan(""));
    model.learn(1'000'000, std::numeric_limits<double>::infinity());
    EXPECT_EQ(model.predict_s(1'000'000), before_s);
}

}  // namespace
}  // namespace caesura::predict
