// Gravity on the mesh: from density to the gradient of the potential.
//
// The potential obeys laplace(phi) = 3/2 Omega_m delta (cells, 1/H0), solved with the seven-point
// Laplacian's Green function; its gradient is the four-point difference. Mass comes in and forces
// go out through the particle kernels. Invariants: mesh arrays hold planes [lo - below, hi + above)
// with `below` and `above` as named there; no kernel communicates.
#pragma once

#include <vector>

#include "fft.hpp"
#include "particle_kernels.hpp"

namespace cosmology {

/// modes *= Green function * 3/2 Omega_m / n^3.
void solve_poisson(const Slab& slab, double omega_m, std::vector<Complex>& modes);

/// gradient(node) of the potential for planes [lo - 1, hi + 1).
void compute_gradient(const Slab& slab, const float* potential, std::vector<Float4>& gradient);

}  // namespace cosmology
