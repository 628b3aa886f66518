// Vector kernel of counts, extremes and sums of a block of values.
#pragma once

#include <cstddef>

namespace caesura::lambda {

/// Of the finite values x of a block; deviations are x - shift.
struct BlockSums {
    std::size_t finite = 0;
    std::size_t nan = 0;
    double low;      ///< +infinity if no value is finite
    double high;     ///< -infinity likewise
    double sum;      ///< of deviations
    double squares;  ///< of deviations
};

/// Limit: one read of the values; about 10 operations for a vector of doubles.
BlockSums block_sums(const float* values, std::size_t n, double shift);
BlockSums block_sums(const double* values, std::size_t n, double shift);

}  // namespace caesura::lambda
