// Goal: the noise is S0's, met alike by all modes, and compression speed is S1's curve.
#include "simulate/workload.hpp"

#include <gtest/gtest.h>

namespace caesura::simulate {
namespace {

/// Mean and standard deviation.
struct Spread {
    double n = 0.0, sum = 0.0, squares = 0.0;
    void add(double x) {
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    double mean() const { return sum / n; }
    double sigma() const { return std::sqrt(squares / n - mean() * mean()); }
};

Scenario scenario() {
    Scenario s;
    s.ranks = 64;
    s.ranks_per_node = 4;
    s.iterations = 50;
    s.patterns = {{2.0, {{{0.2, 0.6}, {1.0, 1.4}}, {{0.7, 0.9}}}}};
    s.blocks = {std::vector<Block>(10, Block{8e6, 16.0, -1.0})};
    s.compress.min_bytes_per_s = s.compress.max_bytes_per_s = 1e8;
    return s;
}

TEST(Workload, noise_has_the_spreads_of_s0) {
    const Scenario s = scenario();
    const Workload workload(s);
    Spread end_s, ratio, compress, write;
    std::vector<Phase> phases;
    for (std::uint32_t rank = 0; rank < s.ranks; ++rank)
        for (std::uint32_t iteration = 0; iteration < s.iterations; ++iteration) {
            workload.phases(rank, iteration, phases);
            double at_s = 0.0;
            for (const Phase& phase : phases) at_s += phase.length_s;
            end_s.add(at_s);
            for (const Piece& piece : workload.pieces(rank, iteration)) {
                ratio.add(piece.predicted_bytes / piece.bytes);
                compress.add(piece.predicted_compress_s / piece.compress_s);
                write.add(1.0 / piece.write_factor);
            }
        }
    EXPECT_NEAR(end_s.mean(), 2.0, 0.002);
    EXPECT_NEAR(end_s.sigma(), 0.01 * 2.0, 0.001);
    EXPECT_NEAR(ratio.mean(), 1.0, 0.003);
    EXPECT_NEAR(ratio.sigma(), 0.10, 0.002);
    EXPECT_NEAR(compress.sigma(), 0.05, 0.001);
    EXPECT_NEAR(write.sigma(), 0.05, 0.001);
}

TEST(Workload, phases_are_the_pattern_cut_at_every_begin_and_end) {
    Scenario s = scenario();
    s.noise.interval_sigma = 0.0;
    std::vector<Phase> phases;
    Workload(s).phases(0, 0, phases);
    const std::vector<Phase> expected{{0.2, false, false}, {0.4, true, false},  {0.1, false, false},
                                      {0.2, false, true},  {0.1, false, false}, {0.4, true, false},
                                      {0.6, false, false}};
    ASSERT_EQ(phases.size(), expected.size());
    for (std::size_t i = 0; i < phases.size(); ++i) {
        EXPECT_NEAR(phases[i].length_s, expected[i].length_s, 1e-12) << i;
        EXPECT_EQ(phases[i].host, expected[i].host) << i;
        EXPECT_EQ(phases[i].network, expected[i].network) << i;
    }
}

TEST(Workload, compression_speed_is_the_clamped_curve_of_s1) {
    Scenario s = scenario();
    s.noise = {0, 0, 0, 0, 0, 0, 0, 1.0};
    s.compress = {101.7e6, 240.6e6, -1.716, 32.0};
    // 32 / ratio bits a value: at 2 the curve is clamped at C_max, at 8 it is what it prints.
    s.blocks = {{Block{8e6, 16.0, -1.0}, Block{8e6, 4.0, -1.0}, Block{8e6, 4.0, 0.5}}};
    const auto pieces = Workload(s).pieces(0, 0);
    EXPECT_NEAR(pieces[0].compress_s, 8e6 / 240.6e6, 1e-12);
    const double curve = (240.6e6 - 101.7e6) * std::pow(3.0, 1.716) * std::pow(8.0, -1.716);
    EXPECT_NEAR(pieces[1].compress_s, 8e6 / (curve + 101.7e6), 1e-12);
    EXPECT_EQ(pieces[2].compress_s, 0.5);
}

TEST(Workload, a_contended_system_keeps_its_mean) {
    Scenario s = scenario();
    s.storage.system_bytes_per_s = 1e9;
    s.noise.contention_sigma = 0.4;
    const Workload workload(s);
    Spread bandwidth;
    for (std::uint64_t period = 0; period < 20'000; ++period)
        bandwidth.add(workload.system_bytes_per_s(period));
    EXPECT_NEAR(bandwidth.mean(), 1e9, 1.5e7);
}

}  // namespace
}  // namespace caesura::simulate
