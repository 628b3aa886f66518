// Counts, extremes, mean and variance of finite values, so that parts merge.
//
// Invariants:
//  - Finite values only; NaN and infinities are counted.
//  - The relative error of the variance does not grow with |mean| / deviation: a block's deviations
//    are taken from one of its own values s, so its sum of squares is at most (n + 1) times what is
//    left of it after the mean is taken off (n = k_block values): a relative error of about
//    k_block * 2^-53. Blocks merge by Chan's rule, with the mean as a value of the data and an
//    offset from it, because a mean alone is rounded in units of itself.
//  - Values beyond 1e150 in magnitude overflow the variance (infinite), as anywhere.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "lambda/byte_sink.hpp"
#include "lambda/moments_kernels.hpp"

namespace caesura::lambda {

struct Moments {
    std::uint64_t count = 0;  ///< finite values
    std::uint64_t nan = 0;
    std::uint64_t infinite = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double origin = 0.0;   ///< one of the values
    double offset = 0.0;   ///< of the mean from it
    double squares = 0.0;  ///< sum of (x - mean)^2

    static constexpr std::size_t k_block = 4096;

    void add(std::span<const float> values);
    void add(std::span<const double> values);
    /// Of a block of `values` values: its sums, deviations being from `shift`, one of the finite
    /// ones.
    void add(const BlockSums& sums, std::size_t values, double shift);
    /// Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance, 1983.
    void merge(const Moments& other);
    double mean() const { return origin + offset; }
    /// NaN if there are no more values than `ddof`.
    double variance(std::int64_t ddof) const;

    void save(Writer& out) const;
    /// Errors: corrupt.
    Status load(Reader& in);
};

}  // namespace caesura::lambda
