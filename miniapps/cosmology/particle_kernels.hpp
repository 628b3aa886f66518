// The three kernels over a rank's particles: deposit, kick and drift, on the host.
//
// Cloud-in-cell on mesh nodes. Mesh arrays hold planes [lo - below, hi + above) with `below` and
// `above` as named. This header and its source know neither MPI nor FFTW: the same kernels exist
// for GPUs (device_kernels.hpp), and the two are held against each other wherever there is one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cosmology {

/// The planes [lo, hi) of an n x n x n mesh that belong to a rank.
class SlabExtent {
  public:
    SlabExtent(int n, int lo, int hi) : n_(n), lo_(lo), hi_(hi) {}
    int n() const { return n_; }
    int lo() const { return lo_; }
    int hi() const { return hi_; }
    int planes() const { return hi_ - lo_; }

  protected:
    int n_, lo_, hi_;
};

/// Particles of one rank: positions in mesh cells, momenta p = a^2 dx/dt in cells * H0.
///
/// Structure of arrays, float; every x lies in the rank's slab [lo, hi) except between drift and
/// migration, every y and z in [0, n).
struct Particles {
    static constexpr int k_arrays = 6;
    std::array<std::vector<float>, k_arrays> arrays;  ///< x y z px py pz
    bool have_ids = false;                            ///< on all ranks or on none
    std::vector<std::uint64_t> ids;  ///< place in the lattice that they started from

    std::size_t count() const { return arrays[0].size(); }
    float* x(int axis) { return arrays[static_cast<std::size_t>(axis)].data(); }
    const float* x(int axis) const { return arrays[static_cast<std::size_t>(axis)].data(); }
    float* p(int axis) { return arrays[static_cast<std::size_t>(axis) + 3].data(); }
    const float* p(int axis) const { return arrays[static_cast<std::size_t>(axis) + 3].data(); }
    void resize(std::size_t count) {
        for (auto& array : arrays) array.resize(count);
        if (have_ids) ids.resize(count);
    }
};

/// Four floats handled as one: a node's gradient (x, y, z, 0), or its moments (momentum x, y, z,
/// mass). One vector load per mesh node is what makes gather and deposit fast.
using Float4 = float __attribute__((vector_size(16)));

inline constexpr int k_potential_below = 3;  ///< ghosts of density and potential
inline constexpr int k_potential_above = 3;
inline constexpr int k_node_below = 1;  ///< ghosts of gradient and moments
inline constexpr int k_node_above = 1;

/// Add `mass` per particle to `density` ([planes [lo - 3, hi + 3)][n][n + 2], the two columns of
/// padding zero); plane hi collects what belongs to the next rank.
void deposit_mass(const SlabExtent& slab, const Particles& particles, float mass, float* density);

/// p -= kick * grad(phi) at the particle, in two parts: after `kick_to_now` momenta and positions
/// are of the same time, and if `moments` is not null (planes [lo - 1, hi + 1)) mass and momentum
/// are added there; then `kick_on`.
struct KickFactors {
    float to_now = 0.0f, on = 0.0f;
};
void kick(const SlabExtent& slab, Particles& particles, const std::vector<Float4>& gradient,
          KickFactors factors, float mass, std::vector<Float4>* moments);

/// x += factor * p, wrapped into the box of side n.
void drift(int n, Particles& particles, float factor);

}  // namespace cosmology
