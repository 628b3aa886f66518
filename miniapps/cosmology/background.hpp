// The expanding background: a flat universe of matter and a cosmological constant.
//
// Everything the particle integrator needs is a function of the scale factor a (1 today):
//   E(a)  = sqrt(Omega_m / a^3 + 1 - Omega_m), the Hubble rate in units of today's;
//   D(a)  = linear growth, 1 at a = 1, proportional to E(a) * integral of da / (a E)^3;
//   Gf(a) = a^3 E dD/da, the growth of the momentum p = a^2 dx/dt in linear theory.
// Invariant: time is in units of 1/H0 and lengths cancel, so kick and drift are pure numbers.
#pragma once

#include <vector>

namespace cosmology {

struct CosmologyParameters {
    double omega_m = 0.31;
    double omega_b = 0.049;
    double h = 0.68;
    double spectral_index = 0.97;
    double sigma8 = 0.82;
};

class Background {
  public:
    explicit Background(const CosmologyParameters& parameters);

    double hubble(double a) const;           ///< E(a)
    double growth(double a) const;           ///< D(a), 1 at a = 1
    double growth_momentum(double a) const;  ///< Gf(a)
    double age_s(double a) const;            ///< seconds since the big bang

    /// Momentum gained between a0 and a1 per unit of -grad(phi), where laplace(phi) = 3/2 Omega_m
    /// delta is evaluated at `a_force`. Exact in linear theory for steps of any length.
    /// Source: Feng, Chu, Seljak, McDonald 2016 (FastPM), Eq. 28.
    double kick(double a_force, double a0, double a1) const;
    /// Distance moved between a0 and a1 per unit of momentum known at `a_momentum` (Eq. 26 there).
    double drift(double a_momentum, double a0, double a1) const;
    /// Linear-theory momentum per unit of -grad(phi) at a.
    double linear_momentum(double a) const;

    const CosmologyParameters& parameters() const { return parameters_; }

  private:
    double growth_integral(double a) const;

    CosmologyParameters parameters_;
    double growth_norm_ = 1.0;
};

}  // namespace cosmology
