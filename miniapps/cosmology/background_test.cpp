// The background and the spectrum against closed forms. No MPI.

#include "background.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "initial_conditions.hpp"
#include "power_spectrum.hpp"

namespace cosmology {
namespace {

TEST(Background, is_einstein_de_sitter_without_lambda) {
    // With matter alone everything is a power of a: D = a, Gf = a^1.5, t = 2/3 a^1.5 / H0.
    const Background b({.omega_m = 1.0, .h = 0.5});
    const double hubble_time_s = 3.0856775814913673e17 / 0.5;
    for (const double a : {0.001, 0.00625, 0.1, 0.5, 1.0}) {
        EXPECT_NEAR(b.growth(a) / a, 1.0, 1e-9) << "a = " << a;
        EXPECT_NEAR(b.growth_momentum(a) / std::pow(a, 1.5), 1.0, 1e-9) << "a = " << a;
        EXPECT_NEAR(b.age_s(a) / (2.0 / 3.0 * std::pow(a, 1.5) * hubble_time_s), 1.0, 1e-9);
    }
}

TEST(Background, growth_momentum_is_the_growth_rates_definition) {
    const Background b(CosmologyParameters{});
    for (const double a : {0.01, 0.1, 0.4, 0.9}) {
        const double d = 1e-4 * a;
        const double slope = (b.growth(a + d) - b.growth(a - d)) / (2 * d);
        EXPECT_NEAR(b.growth_momentum(a) / (std::pow(a, 3) * b.hubble(a) * slope), 1.0, 1e-6);
    }
}

TEST(Background, growth_obeys_its_differential_equation) {
    // d(Gf)/da = 3/2 Omega_m D / (a^2 E): what makes kicks exact in linear theory.
    const CosmologyParameters parameters;
    const Background b(parameters);
    for (const double a : {0.01, 0.1, 0.4, 0.9}) {
        const double d = 1e-4 * a;
        const double slope = (b.growth_momentum(a + d) - b.growth_momentum(a - d)) / (2 * d);
        const double expected = 1.5 * parameters.omega_m * b.growth(a) / (a * a * b.hubble(a));
        EXPECT_NEAR(slope / expected, 1.0, 1e-6) << "a = " << a;
    }
}

TEST(Background, short_kicks_and_drifts_are_the_equations_of_motion) {
    const Background b(CosmologyParameters{});
    const double a = 0.2, d = 1e-4;
    EXPECT_NEAR(b.kick(a, a - d, a + d) / (2 * d / (a * a * b.hubble(a))), 1.0, 1e-5);
    EXPECT_NEAR(b.drift(a, a - d, a + d) / (2 * d / (std::pow(a, 3) * b.hubble(a))), 1.0, 1e-5);
}

TEST(PowerSpectrum, is_normalised_by_sigma8) {
    const CosmologyParameters parameters;
    EXPECT_NEAR(PowerSpectrum(parameters).sigma(8.0 / parameters.h), parameters.sigma8, 1e-10);
}

TEST(PowerSpectrum, is_primordial_on_large_scales_and_suppressed_on_small_ones) {
    const CosmologyParameters parameters;
    const PowerSpectrum power(parameters);
    EXPECT_NEAR(power.transfer(1e-6), 1.0, 1e-3);
    const double slope = std::log(power(2e-6) / power(1e-6)) / std::log(2.0);
    EXPECT_NEAR(slope, parameters.spectral_index, 1e-3);
    // Far inside the horizon T falls as ln(k) / k^2, so P's slope tends to n - 4 from above.
    const double steep = std::log(power(200.0) / power(100.0)) / std::log(2.0);
    EXPECT_GT(steep, parameters.spectral_index - 4.0);
    EXPECT_LT(steep, parameters.spectral_index - 3.5);
}

TEST(InitialConditions, modes_are_hermitian_and_standard_normal) {
    constexpr std::uint64_t k_seed = 20240607;
    double sum[2] = {0, 0}, squares[2] = {0, 0}, product = 0;
    long count = 0;
    for (int x = -15; x <= 15; ++x) {
        for (int y = -15; y <= 15; ++y) {
            for (int z = 1; z <= 15; ++z, ++count) {
                const auto mode = mode_amplitude(k_seed, x, y, z);
                const auto twin = mode_amplitude(k_seed, -x, -y, -z);
                ASSERT_EQ(mode[0], twin[0]);
                ASSERT_EQ(mode[1], -twin[1]);
                for (const std::size_t part : {std::size_t{0}, std::size_t{1}}) {
                    sum[part] += mode[part];
                    squares[part] += mode[part] * mode[part];
                }
                product += mode[0] * mode[1];
            }
        }
    }
    const double n = static_cast<double>(count), five_sigma = 5.0 / std::sqrt(n);
    for (const int part : {0, 1}) {
        EXPECT_LT(std::abs(sum[part] / n), five_sigma) << "seed " << k_seed;
        EXPECT_LT(std::abs(squares[part] / n - 1.0), five_sigma * std::sqrt(2.0));
    }
    EXPECT_LT(std::abs(product / n), five_sigma);
}

}  // namespace
}  // namespace cosmology
