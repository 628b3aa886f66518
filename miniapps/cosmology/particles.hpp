// Particles of one rank: positions in mesh cells, momenta p = a^2 dx/dt in cells * H0.
//
// Invariants:
//  - structure of arrays, float; every x lies in the rank's slab [lo, hi) except between drift and
//    migrate, every y and z in [0, n);
//  - the order is a function of the run alone (no timing, no hash): sums repeat bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "slab.hpp"

namespace cosmology {

struct Particles {
    static constexpr int k_arrays = 6;
    std::array<std::vector<float>, k_arrays> arrays;  ///< x y z px py pz

    std::size_t count() const { return arrays[0].size(); }
    float* x(int axis) { return arrays[static_cast<std::size_t>(axis)].data(); }
    const float* x(int axis) const { return arrays[static_cast<std::size_t>(axis)].data(); }
    float* p(int axis) { return arrays[static_cast<std::size_t>(axis) + 3].data(); }
    const float* p(int axis) const { return arrays[static_cast<std::size_t>(axis) + 3].data(); }
    void resize(std::size_t count) {
        for (auto& array : arrays) array.resize(count);
    }
};

/// Takes particles that left the slab out of the arrays and hands them to their new ranks.
class Migration {
  public:
    explicit Migration(const Slab& slab);
    /// Remove the leavers and pack them per new owner. Local.
    void pack(Particles& particles);
    /// Send and receive; arrivals are appended in the order of their old ranks. Collective.
    void exchange(Particles& particles);

  private:
    const Slab slab_;
    std::vector<int> owner_of_plane_;
    std::vector<std::vector<float>> outgoing_;  ///< per rank: 6 floats a particle
};

/// Sort by mesh row (x plane, y row): neighbours in space become neighbours in memory, so that
/// deposit and gather run from cache. Stable, linear time.
class RowSort {
  public:
    explicit RowSort(const Slab& slab) : slab_(slab) {}
    void operator()(Particles& particles);

  private:
    const Slab slab_;
    std::vector<std::uint32_t> target_, starts_;
    std::vector<float> scratch_;
};

}  // namespace cosmology
