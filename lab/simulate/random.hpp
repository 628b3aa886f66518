// Random numbers by place instead of by turn.
//
// Invariants:
//  - A number depends on the seed and on what it is for, never on how many were drawn before: modes
//    of one scenario meet the same noise, and the order of events does not matter.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace caesura::simulate {

/// What a number is for.
enum class Draw : std::uint64_t {
    boundary = 1,
    ratio,
    compress,
    write,
    block,
    jitter,
    rank,
    system
};

class Random {
  public:
    explicit Random(std::uint64_t seed) : seed_(mix(seed + k_step)) {}

    /// Standard normal, by Box and Muller.
    double normal(Draw draw, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) const {
        std::uint64_t key = mix(seed_ ^ static_cast<std::uint64_t>(draw));
        for (const std::uint64_t place : {a, b, c}) key = mix((key + k_step) ^ place);
        const double u = 1.0 - unit(key);  // (0, 1]
        const double v = unit(mix(key + k_step));
        return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
    }
    /// 1 + sigma times a normal number, at least `least`.
    double factor(double sigma, double least, Draw draw, std::uint64_t a, std::uint64_t b = 0,
                  std::uint64_t c = 0) const {
        if (sigma == 0.0) return 1.0;
        return std::fmax(least, 1.0 + sigma * normal(draw, a, b, c));
    }

  private:
    static constexpr std::uint64_t k_step = 0x9e3779b97f4a7c15u;
    // The finaliser of splitmix64: every bit of the input changes half of the output's.
    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    static double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

    std::uint64_t seed_;
};

}  // namespace caesura::simulate
