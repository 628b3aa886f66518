// The linear matter power spectrum today: P(k) = A k^n T(k)^2, normalised by sigma8.
//
// T is the transfer function of Eisenstein & Hu 1998 without baryon wiggles (their Eqs. 26, 28-31).
// k in 1/Mpc (no h), P in Mpc^3, both comoving.
#pragma once

#include "background.hpp"

namespace cosmology {

class PowerSpectrum {
  public:
    explicit PowerSpectrum(const CosmologyParameters& parameters);

    double operator()(double k) const;  ///< P(k) at a = 1
    double transfer(double k) const;    ///< T(k), 1 as k -> 0
    /// Linear rms of the density in spheres of `radius` Mpc today.
    double sigma(double radius) const;

  private:
    CosmologyParameters parameters_;
    double sound_horizon_ = 0.0;
    double alpha_ = 1.0;
    double amplitude_ = 1.0;
};

}  // namespace cosmology
