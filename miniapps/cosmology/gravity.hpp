// The particle-mesh kernels: deposit, gravity, kick and drift.
//
// Cloud-in-cell on mesh nodes; the potential obeys laplace(phi) = 3/2 Omega_m delta (cells, 1/H0),
// solved with the seven-point Laplacian's Green function; its gradient is the four-point
// difference. Invariants: mesh arrays hold planes [lo - below, hi + above) with `below` and `above`
// as named; no kernel communicates.
#pragma once

#include <vector>

#include "fft.hpp"
#include "particles.hpp"

namespace cosmology {

/// Four floats handled as one: a node's gradient (x, y, z, unused), or its moments (momentum x, y,
/// z, mass). One vector load per mesh node is what makes gather and deposit fast.
using Float4 = float __attribute__((vector_size(16)));

inline constexpr int k_potential_below = 3;  ///< ghosts of density and potential
inline constexpr int k_potential_above = 3;
inline constexpr int k_node_below = 1;  ///< ghosts of gradient and moments
inline constexpr int k_node_above = 1;

/// Add `mass` per particle to `density` ([planes [lo - 3, hi + 3)][n][n + 2]); plane hi collects
/// what belongs to the next rank.
void deposit_mass(const Slab& slab, const Particles& particles, float mass, float* density);

/// modes *= Green function * 3/2 Omega_m / n^3.
void solve_poisson(const Slab& slab, double omega_m, std::vector<Complex>& modes);

/// gradient(node) of the potential for planes [lo - 1, hi + 1).
void compute_gradient(const Slab& slab, const float* potential, std::vector<Float4>& gradient);

/// p -= kick * grad(phi) at the particle, in two parts: after `kick_to_now` momenta and positions
/// are of the same time, and if `moments` is not null (planes [lo - 1, hi + 1)) mass and momentum
/// are added there; then `kick_on`.
struct KickFactors {
    float to_now = 0.0f, on = 0.0f;
};
void kick(const Slab& slab, Particles& particles, const std::vector<Float4>& gradient,
          KickFactors factors, float mass, std::vector<Float4>* moments);

/// x += factor * p, wrapped into the box.
void drift(int n, Particles& particles, float factor);

}  // namespace cosmology
