// A real field of 1 to 3 axes and its Fourier transform, in the same memory.
//
// Invariants:
//  - Only half of the last axis is kept: the other half is its complex conjugate.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::lambda {

/// Power of modes by wave number; the lists have one entry for each bin that has modes.
struct Power {
    std::vector<double> wave_number;  ///< mean of the bin's modes
    std::vector<double> mean;         ///< power per mode
    std::vector<std::int64_t> modes;
    double beyond = 0.0;  ///< summed power of modes beyond the last bin
    std::int64_t beyond_modes = 0;
};

/// Can an FFT do these lengths? An axis whose length has a prime factor p costs p operations a
/// value, so large ones are refused.
/// Errors: unsupported (more than 3 axes; a prime factor above 1021).
Status check_lengths(const Shape& shape);

class HalfComplex {
  public:
    static std::uint64_t bytes_of(const Shape& shape);
    /// Throws std::bad_alloc. Every extent >= 1.
    explicit HalfComplex(const Shape& shape);
    /// Where the value of this index (C order) lies; the rest of its row follows.
    double* real_row(std::uint64_t index);
    void replace_not_finite(double value);
    /// Values become their Fourier sums. Once.
    void transform();
    /// After transform().
    Power power() const;

  private:
    void transform_rows();
    void transform_axis(std::uint64_t length, std::uint64_t stride);

    Shape shape_;  // with leading 1s: 3 axes
    std::uint64_t half_;
    std::vector<std::complex<double>> data_;
};

}  // namespace caesura::lambda
