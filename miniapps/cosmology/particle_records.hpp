// The particles' records as every output writes them: names, units, errors; and where a rank's lie.
//
// All modes write the particles of rank 0, then of rank 1, and so on, each rank's in its own order.
#pragma once

#include <array>
#include <string>

#include "options.hpp"
#include "particles.hpp"

namespace cosmology {

inline constexpr const char* k_species = "dark_matter";

/// A component, one number a particle. What is in cells is comoving.
struct RecordInfo {
    std::string name;                           ///< "position/x"
    double unit_si = 1.0;                       ///< factor to SI; of a momentum, of a unit mass
    std::array<double, 7> unit_dimension = {};  ///< powers of L M T I theta N J (openPMD)
};

/// In the order of Particles::arrays.
std::array<RecordInfo, Particles::k_arrays> record_infos(const Options& options);
/// Of each particle, in masses of a mean cell.
double particle_mass(const Options& options);

/// A rank's stretch of all particles.
struct Share {
    std::uint64_t begin = 0, count = 0, total = 0;
};
/// Collective.
Share share_of(const Particles& particles, const Slab& slab);

}  // namespace cosmology
