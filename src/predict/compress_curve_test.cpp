#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "predict/fit.hpp"
#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr unsigned k_compress_curve_seed = 20221117;
constexpr std::uint64_t k_raw = 1u << 23;
constexpr double k_bits[] = {0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0,
                             6.0,  8.0, 10., 12., 16., 20., 24., 28., 32.0};

CompressCurve paper_curve() {  // S1's fit: 101.7 and 240.6 MB/s, a = -1.716
    CompressCurve curve;
    curve.low_bytes_per_s = 101.7e6;
    curve.high_bytes_per_s = 240.6e6;
    curve.exponent = -1.716;
    return curve;
}

CompressCurve points_curve() {
    CompressCurve curve;
    curve.form = CompressCurve::Form::points;
    curve.bits = {0.05, 1.0, 4.0, 12.0, 32.0};
    curve.s_per_byte = {1e-10, 1.5e-10, 2.5e-10, 3e-10, 9e-10};
    curve.per_block_s = 2e-4;
    return curve;
}

std::vector<CompressSample> samples_of(const CompressCurve& curve, double noise = 0.0,
                                       unsigned seed = k_compress_curve_seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> error(0.0, noise);
    std::vector<CompressSample> samples;
    for (const std::uint64_t raw : {k_raw, k_raw / 8})
        for (const double bits : k_bits)
            samples.push_back(
                {raw, bits,
                 curve.predict_s(raw, bits) * (noise > 0 ? std::exp(error(random)) : 1)});
    return samples;
}

// Goal: S1-Eq1 as printed above 3 bits, clamped at C_max below, and never under C_min.
TEST(CompressCurve, is_the_papers_equation_with_the_clamp) {
    const CompressCurve curve = paper_curve();
    for (const double bits : {3.0, 4.0, 8.0, 16.0, 32.0}) {
        const double speed =
            (240.6e6 - 101.7e6) * std::pow(3.0, 1.716) * std::pow(bits, -1.716) + 101.7e6;
        EXPECT_NEAR(curve.predict_s(k_raw, bits), k_raw / speed, 1e-12) << bits;
    }
    for (const double bits : {0.0, 0.01, 1.0, 2.999})
        EXPECT_NEAR(curve.predict_s(k_raw, bits), k_raw / 240.6e6, 1e-12) << bits;
    EXPECT_LT(curve.predict_s(k_raw, 1e9), k_raw / 101.7e6 * (1 + 1e-9));
    EXPECT_EQ(curve.predict_s(0, 5.0), 0.0);
}

TEST(CompressCurve, recovers_the_parameters_that_made_the_samples) {
    const auto samples = samples_of(paper_curve());
    const auto fitted = fit_compress(samples, CompressCurve::Form::power);
    ASSERT_TRUE(fitted.ok()) << fitted.status().message();
    EXPECT_NEAR(fitted->low_bytes_per_s, 101.7e6, 0.01 * 101.7e6);
    EXPECT_NEAR(fitted->high_bytes_per_s, 240.6e6, 0.01 * 240.6e6);
    EXPECT_NEAR(fitted->exponent, -1.716, 0.03);
    EXPECT_LT(median_error(*fitted, samples), 1e-3);
    const auto chosen = fit_compress(samples);
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(chosen->form, CompressCurve::Form::power);
}

TEST(CompressCurve, recovers_points_and_the_fixed_cost) {
    const CompressCurve truth = points_curve();
    const auto samples = samples_of(truth);
    const auto fitted = fit_compress(samples);
    ASSERT_TRUE(fitted.ok()) << fitted.status().message();
    EXPECT_EQ(fitted->form, CompressCurve::Form::points);
    EXPECT_LT(median_error(*fitted, samples), 0.01);
    EXPECT_NEAR(fitted->per_block_s, 2e-4, 0.2e-4);
    for (const double bits : {0.5, 2.0, 7.0, 15.0, 30.0})
        EXPECT_NEAR(fitted->predict_s(k_raw / 2, bits) / truth.predict_s(k_raw / 2, bits), 1.0,
                    0.05)
            << bits;
}

// Goal: 10 % of noise and a sample in ten that was stopped for three times as long still give a
// curve that is right within a few percent.
TEST(CompressCurve, noise_and_stalls_do_not_decide) {
    RecordProperty("seed", static_cast<int>(k_compress_curve_seed));
    for (const CompressCurve& truth : {paper_curve(), points_curve()}) {
        auto samples = samples_of(truth, 0.1);
        for (const unsigned seed : {k_compress_curve_seed + 1, k_compress_curve_seed + 2}) {
            const auto more = samples_of(truth, 0.1, seed);
            samples.insert(samples.end(), more.begin(), more.end());
        }
        for (std::size_t i = 3; i < samples.size(); i += 10) samples[i].compress_s *= 3.0;
        const auto fitted = fit_compress(samples, truth.form);
        ASSERT_TRUE(fitted.ok());
        double worst = 0.0;
        for (const double bits : {0.3, 1.2, 3.5, 9.0, 18.0})
            worst = std::max(
                worst,
                std::fabs(fitted->predict_s(k_raw, bits) / truth.predict_s(k_raw, bits) - 1.0));
        EXPECT_LT(worst, 0.12);
    }
}

// Goal: whatever the samples, the fit exists or says why, is accepted by check(), and its times
// never fall when the bits grow.
TEST(CompressCurve, is_monotone_whatever_was_measured) {
    RecordProperty("seed", static_cast<int>(k_compress_curve_seed));
    std::mt19937 random(k_compress_curve_seed);
    std::lognormal_distribution<double> wild(-5.0, 3.0);
    for (int round = 0; round < 60; ++round) {
        std::vector<CompressSample> samples;
        const auto n = 1 + random() % 40;
        for (unsigned i = 0; i < n; ++i)
            samples.push_back({1 + random() % (1u << 24),
                               round % 3 == 0 ? 2.0 : static_cast<double>(random() % 3200) / 100.0,
                               wild(random)});
        for (const auto form : {CompressCurve::Form::power, CompressCurve::Form::points}) {
            const auto fitted = fit_compress(samples, form);
            ASSERT_TRUE(fitted.ok()) << fitted.status().message();
            ASSERT_TRUE(check(*fitted).ok()) << check(*fitted).message() << " round " << round;
            double before_s = 0.0;
            for (double bits = 0.0; bits < 70.0; bits += 0.1) {
                const double now_s = fitted->predict_s(k_raw, bits);
                ASSERT_TRUE(std::isfinite(now_s) && now_s >= before_s * (1 - 1e-12)) << bits;
                before_s = now_s;
            }
        }
    }
}

TEST(CompressCurve, degenerate_samples_are_passed_over_or_refused) {
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<CompressSample> useless = {
        {0, 1.0, 1.0}, {8, std::nan(""), 1.0}, {8, 1.0, 0.0}, {8, 1.0, inf}, {8, -1.0, 1.0}};
    EXPECT_EQ(fit_compress(useless).status().code(), StatusCode::insufficient_data);
    EXPECT_EQ(fit_compress({}).status().code(), StatusCode::insufficient_data);
    auto samples = useless;
    samples.push_back({k_raw, 2.0, 0.01});
    const auto one = fit_compress(samples);
    ASSERT_TRUE(one.ok());
    EXPECT_NEAR(one->predict_s(k_raw, 2.0), 0.01, 1e-5);
    EXPECT_NEAR(one->predict_s(2 * k_raw, 20.0), 0.02, 1e-5);
    EXPECT_NEAR(median_error(*one, samples), 0.0, 1e-3);
}

TEST(CompressCurve, check_names_what_is_wrong) {
    CompressCurve curve = paper_curve();
    EXPECT_TRUE(check(curve).ok());
    curve.exponent = 1.0;
    EXPECT_NE(check(curve).message().find("exponent is 1"), std::string::npos);
    curve = paper_curve();
    std::swap(curve.low_bytes_per_s, curve.high_bytes_per_s);
    EXPECT_EQ(check(curve).code(), StatusCode::invalid_argument);
    curve = points_curve();
    EXPECT_TRUE(check(curve).ok());
    curve.s_per_byte[2] = 1e-12;
    EXPECT_NE(check(curve).message().find("s_per_byte[2]"), std::string::npos);
    curve = points_curve();
    curve.bits.pop_back();
    EXPECT_EQ(check(curve).code(), StatusCode::invalid_argument);
    curve = points_curve();
    curve.bits[1] = curve.bits[0];
    EXPECT_NE(check(curve).message().find("bits[1]"), std::string::npos);
}

// Goal: the solver finds the coefficients of exact rows, and 0 where a negative one would fit best.
TEST(Fit, finds_non_negative_coefficients) {
    std::vector<std::vector<double>> rows;
    for (double x = 1.0; x < 10.0; ++x) {
        const double y = 3.0 + 0.5 * x;
        rows.push_back({1.0 / y, x / y});
    }
    const auto v = fit_nonnegative(rows, 2);
    EXPECT_NEAR(v[0], 3.0, 1e-3);
    EXPECT_NEAR(v[1], 0.5, 1e-3);
    rows.clear();
    for (double x = 1.0; x < 10.0; ++x) {
        const double y = 20.0 - x;
        rows.push_back({1.0 / y, x / y});
    }
    const auto bound = fit_nonnegative(rows, 2);
    EXPECT_EQ(bound[1], 0.0);
    EXPECT_GT(bound[0], 10.0);
    EXPECT_EQ(fit_nonnegative({}, 3), std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace caesura::predict
