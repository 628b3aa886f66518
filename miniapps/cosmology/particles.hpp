// The particles' order and owners: migration between slabs, and sorting.
//
// Invariant: the order is a function of the run alone (no timing, no hash): sums repeat bit by bit.
#pragma once

#include <cstdint>
#include <vector>

#include "particle_kernels.hpp"
#include "slab.hpp"

namespace cosmology {

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
    std::vector<std::vector<std::uint64_t>> outgoing_ids_;
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
    std::vector<std::uint64_t> scratch_ids_;
};

}  // namespace cosmology
