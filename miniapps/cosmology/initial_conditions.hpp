// Zel'dovich initial conditions, the same universe for every number of ranks.
//
// Each Fourier mode's amplitude is a hash of (seed, kx, ky, kz): no sequence, no rank, no mesh size
// enters, so a finer run has the same large scales and any decomposition the same particles.
#pragma once

#include <cstdint>

#include "background.hpp"
#include "particles.hpp"
#include "power_spectrum.hpp"

namespace cosmology {

struct InitialConditions {
    int mesh = 0;            ///< cells a side; positions are in cells
    int particles = 0;       ///< particles a side
    double box_mpc = 28.5;   ///< comoving
    double a = 1.0 / 160.0;  ///< scale factor of the start
    std::uint64_t seed = 1;
    bool ids = false;  ///< number the particles
};

/// Two independent standard normal numbers of one mode. k may be of any sign; the mode of -k is
/// the complex conjugate.
std::array<double, 2> mode_amplitude(std::uint64_t seed, int kx, int ky, int kz);

/// Displace a lattice by D(a) psi and give it the momentum Gf(a) psi. Collective.
/// @param slab  of the mesh; every particle ends on the rank that owns its cell.
Particles make_particles(const InitialConditions& ic, const Background& background,
                         const PowerSpectrum& power, const Slab& slab);

}  // namespace cosmology
