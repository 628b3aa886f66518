// A real-to-complex FFT of a slab-decomposed n^3 mesh in single precision, in phases.
//
// Real space:    [planes][n][n + 2] floats (rows padded so that the transform is in place).
// Fourier space: [own ky][n kx][n/2 + 1 kz] complex; ky is split over the ranks as axis 0 was.
// The phases are separate calls because a simulation's communication and computation are different
// things to whoever writes output in its gaps: *_planes and *_lines compute, transpose_* talk.
// Neither direction is normalised: backward(forward(x)) = n^3 x.
// Invariant: plans are FFTW_ESTIMATE, never timed, so that runs repeat bit by bit.
#pragma once

#include <fftw3.h>

#include <complex>
#include <vector>

#include "slab.hpp"

namespace cosmology {

using Complex = std::complex<float>;

class SlabFft {
  public:
    explicit SlabFft(const Slab& slab);
    ~SlabFft();
    SlabFft(const SlabFft&) = delete;
    SlabFft& operator=(const SlabFft&) = delete;

    int row_floats() const { return slab_.n() + 2; }
    std::size_t plane_floats() const {
        return static_cast<std::size_t>(slab_.n()) * static_cast<std::size_t>(row_floats());
    }

    void forward_planes(float* real);             ///< 2-D transforms, in place
    void transpose_forward(const float* planes);  ///< planes -> modes(); collective
    void forward_lines();                         ///< along axis 0, in modes()
    void backward_lines();
    void transpose_backward(float* planes);  ///< modes() -> planes; collective
    void backward_planes(float* real);

    /// [slab.planes()][n][n/2 + 1], the first axis being ky from slab.lo().
    std::vector<Complex>& modes() { return modes_; }

  private:
    void pack(const float* planes);
    void unpack(float* planes) const;
    void exchange(bool forward);
    std::size_t block_offset(int rank) const;

    const Slab slab_;
    int n_, nk_;
    std::vector<Complex> modes_;
    std::vector<Complex> packed_;  ///< per peer: [its ky][my planes][nk]
    fftwf_plan planes_forward_, planes_backward_, lines_forward_, lines_backward_;
};

}  // namespace cosmology
