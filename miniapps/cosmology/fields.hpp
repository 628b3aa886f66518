// The six output fields, named and scaled like those of a cosmological hydrodynamics code (Nyx).
//
//   baryon_density, dark_matter_density   in units of their mean
//   temperature                           K
//   velocity_x, _y, _z                    cm/s, proper peculiar
//
// Dark matter is the particles' CIC density. The gas follows it, smoothed by pressure: its mass and
// momentum are the particles' CIC moments under a binomial kernel [1 2 1]/4 per axis and pass
// (sigma^2 = passes / 2 cells^2), which conserves mass and cannot make it negative. Its temperature
// is a power law of density plus the heat of convergent flow.
// Invariant: no value is a fill-in: where no particle is near, the velocity is linear theory's.
#pragma once

#include <array>
#include <vector>

#include "background.hpp"
#include "gravity.hpp"

namespace cosmology {

enum FieldIndex {
    k_baryon_density,
    k_dark_matter_density,
    k_temperature,
    k_velocity_x,
    k_velocity_y,
    k_velocity_z,
    k_field_count
};

inline constexpr double k_metres_per_mpc = 3.0856775814913673e22;

/// What a reader has to know about a field besides its values.
struct FieldInfo {
    const char* name;
    double bound;    ///< absolute error bound of the papers, in the field's unit
    double unit_si;  ///< factor to SI
    std::array<double, 7> unit_dimension;  ///< powers of L M T I theta N J (openPMD)
};

/// The six, in the order of FieldIndex, each bound times `bound_scale`.
std::array<FieldInfo, k_field_count> field_infos(const CosmologyParameters& cosmology,
                                                 double bound_scale);

class Fields {
  public:
    Fields(const Slab& slab, double box_mpc);

    /// Dense [planes][n][n].
    const std::vector<float>& operator[](int field) const {
        return values_[static_cast<std::size_t>(field)];
    }

    /// Copy the deposited density (as deposit_mass left it, ghosts added) out of its padded rows.
    void take_dark_matter(const float* density);

    // The gas, from moments on planes [lo - 1, hi + 1), in this order; the ghosts of the moments
    // are filled between the calls. smooth_in_plane and smooth_across may repeat as a pair.
    void smooth_in_plane(std::vector<Float4>& moments) const;
    void smooth_across(std::vector<Float4>& moments) const;
    void finish_gas(std::vector<Float4>& moments, const std::vector<Float4>& gradient,
                    const Background& background, double a);

    /// Passes of the binomial kernel that come nearest to the pressure's smoothing length.
    int smoothing_passes() const;

  private:
    const Slab slab_;
    double box_mpc_;
    std::array<std::vector<float>, k_field_count> values_;
};

/// Temperature at mean density, K: adiabatic after decoupling from the CMB at z = 137, heated to
/// about 10^4 K when the universe is reionised around z = 8.
double mean_temperature(double a);

}  // namespace cosmology
