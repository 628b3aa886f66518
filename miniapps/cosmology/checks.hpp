// Is it still physics? Conservation and growth, measured in every step of a run with --check.
//
// Each rank measures its part; Checks adds the parts up and keeps the verdict.
// Limits: mass 1e-5 of the total; momentum 1e-3 of the sum of its absolute values; the particle
// count exactly; the power of the largest scales against D(a)^2 within 5 %, as long as linear
// theory has an rms density below 0.25 in spheres of a particle spacing - and at least over a
// factor 2 in a.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "background.hpp"
#include "fft.hpp"
#include "fields.hpp"
#include "particles.hpp"

namespace cosmology {

/// One rank's sums of one step.
struct Diagnostics {
    double a = 0;
    double mass = 0;       ///< sum of the density over own nodes
    double low_power = 0;  ///< sum of |delta_k|^2 over the largest scales
    double particles = 0;
    std::array<double, 3> momentum{}, momentum_absolute{};
    double gas_mass = -1;   ///< of baryon_density; negative: no fields in this step
    double bad_values = 0;  ///< field values that are not finite, or a temperature below zero
};

void measure_density(const Slab& slab, const float* density, Diagnostics& out);
void measure_power(const Slab& slab, const std::vector<Complex>& modes, Diagnostics& out);
void measure_particles(const Particles& particles, Diagnostics& out);
void measure_fields(const Fields& fields, Diagnostics& out);

class Checks {
  public:
    /// @param sigma_spacing  linear rms density today in spheres of a particle spacing.
    Checks(const Background& background, int grid, int particles, double sigma_spacing,
           MPI_Comm comm);
    /// Collective.
    void add(int step, const Diagnostics& local, bool with_fields);
    /// What was violated, one sentence each; empty: all is well. The same on all ranks.
    std::vector<std::string> violations() const;
    /// The largest departure from linear growth, and the span of a over which it was looked at.
    double worst_growth() const { return worst_growth_; }
    double linear_span() const { return linear_span_; }

  private:
    void expect(bool holds, int step, const std::string& what);

    const Background& background_;
    double nodes_, particles_, sigma_spacing_;
    MPI_Comm comm_;
    double first_a_ = 0, first_power_ = 0;
    double worst_growth_ = 0, linear_span_ = 1;
    std::vector<std::string> violations_;
};

}  // namespace cosmology
