#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_write_curve_seed = 20221118;
constexpr std::uint64_t k_sizes[] = {250'000,    1'000'000,  2'000'000,  5'000'000,
                                     10'000'000, 20'000'000, 50'000'000, 100'000'000};

std::vector<WriteSample> samples_of(const WriteCurve& curve, double noise, int repeats) {
    std::mt19937 random(k_write_curve_seed);
    std::normal_distribution<double> error(0.0, noise > 0 ? noise : 1.0);
    std::vector<WriteSample> samples;
    for (int r = 0; r < repeats; ++r)
        for (const std::uint64_t bytes : k_sizes)
            samples.push_back({bytes, curve.predict_s(static_cast<double>(bytes)) *
                                          (noise > 0 ? std::exp(error(random)) : 1.0)});
    return samples;
}

// Goal: throughput that rises with the size and levels off (S1 Figure 7) is found again.
TEST(WriteCurve, recovers_latency_and_bandwidth) {
    const WriteCurve truth{3e-3, {0.0}, {2e-9}};
    const auto fitted = fit_write(samples_of(truth, 0.0, 1));
    ASSERT_TRUE(fitted.ok()) << fitted.status().message();
    for (const double bytes : {1e5, 1e6, 3e6, 3e7, 2e8})
        EXPECT_NEAR(fitted->predict_s(bytes) / truth.predict_s(bytes), 1.0, 0.02) << bytes;
    EXPECT_GT(1e8 / fitted->predict_s(1e8), 4.0 * 1e6 / fitted->predict_s(1e6) / 4.0);
}

TEST(WriteCurve, follows_a_throughput_that_changes_with_the_size) {
    const WriteCurve truth{1e-4, {0.0, 1e7}, {2e-10, 4e-9}};  // a cache of 10 MB before the disk
    const auto samples = samples_of(truth, 0.05, 4);
    const auto fitted = fit_write(samples);
    ASSERT_TRUE(fitted.ok());
    EXPECT_LT(median_error(*fitted, samples), 0.06);
    for (const double bytes : {1e6, 1e7, 5e7})
        EXPECT_NEAR(fitted->predict_s(bytes) / truth.predict_s(bytes), 1.0, 0.1) << bytes;
    EXPECT_GT(ordered_share(*fitted, samples), 0.98);
}

TEST(WriteCurve, one_size_alone_reads_a_cost_per_byte) {
    const auto fitted = fit_write(std::vector<WriteSample>(5, {8'000'000, 0.08}));
    ASSERT_TRUE(fitted.ok());
    EXPECT_NEAR(fitted->predict_s(8e6), 0.08, 1e-4);
    EXPECT_NEAR(fitted->predict_s(16e6), 0.16, 1e-3);
}

TEST(WriteCurve, is_monotone_whatever_was_measured) {
    RecordProperty("seed", static_cast<int>(k_write_curve_seed));
    std::mt19937 random(k_write_curve_seed);
    std::lognormal_distribution<double> wild(-5.0, 3.0);
    for (int round = 0; round < 50; ++round) {
        std::vector<WriteSample> samples;
        for (unsigned i = 0, n = 1 + random() % 30; i < n; ++i)
            samples.push_back({random() % 100'000'000, wild(random)});
        const auto fitted = fit_write(samples);
        ASSERT_TRUE(fitted.ok()) << fitted.status().message();
        double before_s = 0.0;
        for (double bytes = 0.0; bytes < 1e9; bytes = 2 * bytes + 1000) {
            const double now_s = fitted->predict_s(bytes);
            ASSERT_TRUE(std::isfinite(now_s) && now_s >= before_s) << "round " << round;
            before_s = now_s;
        }
    }
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<WriteSample> useless = {{1000, 0.0}, {1000, inf}, {1000, std::nan("")}};
    EXPECT_EQ(fit_write(useless).status().code(), StatusCode::insufficient_data);
}

TEST(WriteCurve, counts_the_pairs_in_order) {
    const WriteCurve line{0.0, {0.0}, {1e-9}};
    const std::vector<WriteSample> samples = {{100, 1.0}, {200, 2.0}, {300, 1.5}, {300, 9.0}};
    // Of five pairs of different sizes one stands the other way round: 200 took longer than 300.
    EXPECT_NEAR(ordered_share(line, samples), 4.0 / 5.0, 1e-12);
    EXPECT_NEAR(ordered_share(line, samples, 0.4), 1.0, 1e-12);  // 2.0 against 1.5: no order
    EXPECT_EQ(ordered_share(line, {}), 1.0);
}

TEST(WriteCurve, check_names_what_is_wrong) {
    EXPECT_TRUE(check(WriteCurve{}).ok());
    EXPECT_NE(check(WriteCurve{-1.0, {0.0}, {1e-9}}).message().find("latency_s"),
              std::string::npos);
    EXPECT_FALSE(check(WriteCurve{0.0, {0.0}, {0.0}}).ok());
    EXPECT_FALSE(check(WriteCurve{0.0, {1.0}, {1e-9}}).ok());
    EXPECT_FALSE(check(WriteCurve{0.0, {0.0, 5.0, 5.0}, {1.0, 1.0, 1.0}}).ok());
    EXPECT_FALSE(check(WriteCurve{0.0, {0.0, 5.0}, {1.0}}).ok());
    EXPECT_FALSE(check(WriteCurve{0.0, {}, {}}).ok());
    EXPECT_FALSE(check(WriteCurve{0.0, {0.0}, {std::nan("")}}).ok());
}

}  // namespace
}  // namespace caesura::predict
