#include "predict/entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace caesura::predict {
namespace {

constexpr unsigned k_entropy_seed = 20221116;

// Two-sided geometric codes: residuals of real fields look like this.
std::vector<std::int32_t> laplace_codes(std::size_t n, double scale, std::mt19937& random) {
    std::exponential_distribution<double> magnitude(1.0 / scale);
    std::vector<std::int32_t> codes(n);
    for (auto& code : codes) {
        const double drawn = std::min(magnitude(random), k_code_radius - 1.0);
        code = static_cast<std::int32_t>(std::lround(random() % 2 == 0 ? drawn : -drawn));
    }
    return codes;
}

double exact_entropy(const std::vector<std::int32_t>& codes) {
    std::map<std::int32_t, double> counts;
    for (const auto code : codes) counts[code] += 1.0;
    double bits = 0.0;
    for (const auto& [code, count] : counts) {
        const double p = count / static_cast<double>(codes.size());
        bits -= p * std::log2(p);
    }
    return bits;
}

// Goal: 2,000 codes tell the entropy of the source within 2 % + 0.03 bits on average over draws,
// from a fraction of a bit to 14 bits; the plug-in estimate cannot exceed log2(2000) = 11 bits.
TEST(CodeCost, small_samples_are_unbiased_however_wide_the_codes_spread) {
    RecordProperty("seed", static_cast<int>(k_entropy_seed));
    std::mt19937 random(k_entropy_seed);
    for (const double scale : {0.2, 0.5, 1.0, 5.0, 50.0, 500.0, 4000.0}) {
        const double truth = exact_entropy(laplace_codes(1'000'000, scale, random));
        double mean = 0.0, plug_in = 0.0;
        for (int draw = 0; draw < 20; ++draw) {
            const auto codes = laplace_codes(2000, scale, random);
            mean += code_cost(codes, 2000, 32.0).entropy_bits / 20.0;
            plug_in += exact_entropy(codes) / 20.0;
        }
        EXPECT_NEAR(mean, truth, 0.02 * truth + 0.03) << "scale " << scale;
        if (scale >= 500.0) {  // the method is needed
            EXPECT_LT(plug_in, truth - 1.0);
        }
    }
}

TEST(CodeCost, one_repeated_code_costs_nothing) {
    for (const std::int32_t code : {0, 7, -31}) {
        const std::vector<std::int32_t> codes(1000, code);
        EXPECT_EQ(code_cost(codes, 10, 32.0).coded_bits, 0.0) << code;
        EXPECT_EQ(code_cost(codes, 10, 32.0).zero_share, code == 0 ? 1.0 : 0.0);
    }
    EXPECT_EQ(code_cost({}, 1, 32.0).coded_bits, 0.0);
}

TEST(CodeCost, outliers_cost_their_full_width) {
    const std::vector<std::int32_t> codes(1000, k_outlier);
    EXPECT_EQ(code_cost(codes, 10, 32.0).coded_bits, 32.0);
    EXPECT_EQ(code_cost(codes, 10, 64.0).coded_bits, 64.0);
}

// Goal: a Huffman code spends at least a bit, a lossless stage behind it folds zeros that lie
// together and cannot fold zeros that are scattered.
TEST(CodeCost, runs_are_folded_only_where_zeros_lie_together) {
    RecordProperty("seed", static_cast<int>(k_entropy_seed));
    std::mt19937 random(k_entropy_seed);
    std::vector<std::int32_t> together(20'000, 0), scattered(20'000, 0);
    for (std::size_t i = 0; i < 2000; ++i)
        together[i] = scattered[i] = 1 + static_cast<std::int32_t>(random() % 4);
    std::shuffle(scattered.begin(), scattered.end(), random);
    const CodeCost a = code_cost(together, 20, 32.0), b = code_cost(scattered, 20, 32.0);
    EXPECT_NEAR(a.entropy_bits, b.entropy_bits, 1e-9);
    EXPECT_NEAR(a.huffman_bits, 1.0 + 0.1 * 2.0, 0.01);  // 1 for each, 2 more for one in ten
    EXPECT_NEAR(a.coded_bits, 0.2, 0.02);
    EXPECT_GT(b.coded_bits, 0.6);
    EXPECT_LE(b.coded_bits, b.huffman_bits);
}

TEST(ByteEntropy, is_that_of_the_bytes) {
    std::array<std::uint32_t, 256> histogram{};
    EXPECT_EQ(byte_entropy(histogram), 0.0);
    histogram[3] = 1000;
    EXPECT_EQ(byte_entropy(histogram), 0.0);
    histogram[200] = 1000;
    EXPECT_NEAR(byte_entropy(histogram), 1.0, 0.001);
    histogram.fill(100);
    EXPECT_NEAR(byte_entropy(histogram), 8.0, 1e-12);
}

// Goal: how many distinct codes a whole block will have, from 1 % of it: within 25 % (the
// tails that were never sampled are missing), from a few to ten thousand.
TEST(CodeCost, tells_how_many_codes_there_will_be) {
    RecordProperty("seed", static_cast<int>(k_entropy_seed));
    for (const double spread : {2.0, 30.0, 500.0, 4000.0}) {
        std::mt19937 random(k_entropy_seed);
        std::normal_distribution<double> normal(0.0, spread);
        std::vector<std::int32_t> codes(1u << 19);
        for (std::int32_t& code : codes)
            code = static_cast<std::int32_t>(std::lround(normal(random)));
        const std::set<std::int32_t> distinct(codes.begin(), codes.end());
        const std::span<const std::int32_t> sample(codes.data(), codes.size() / 100);
        const CodeCost cost = code_cost(sample, sample.size(), 32.0, codes.size());
        const auto exact = static_cast<double>(distinct.size());
        EXPECT_NEAR(cost.symbols, exact, 0.25 * exact + 3.0) << "spread " << spread;
    }
    const std::vector<std::int32_t> zeros(1000, 0);
    EXPECT_EQ(code_cost(zeros, 1000, 32.0, 1u << 20).symbols, 1.0);
}

}  // namespace
}  // namespace caesura::predict
