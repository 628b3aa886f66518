// The decomposition of an n x n x n mesh into slabs along axis 0, and the exchange of planes.
//
// Invariants: every rank owns at least one plane (size <= n); rank r owns [first(r), first(r + 1));
// the partition is a function of n and size alone, so all ranks know it without talking.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "particle_kernels.hpp"

namespace cosmology {

class Slab : public SlabExtent {
  public:
    Slab(int n, MPI_Comm comm);

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm comm() const { return comm_; }
    int first(int rank) const;
    int planes(int rank) const { return first(rank + 1) - first(rank); }
    using SlabExtent::planes;
    int owner(int plane) const;  ///< 0 <= plane < n

    /// Fill ghost planes from their owners. `data` holds planes [lo - below, hi + above), each of
    /// `plane_floats`; ghosts wrap around the periodic box. Collective.
    void fill_ghosts(float* data, std::size_t plane_floats, int below, int above) const;
    /// Add everyone's plane hi to its owner's first plane. `data` as above. Collective.
    void add_upper_ghost(float* data, std::size_t plane_floats, int below) const;

  private:
    int rank_ = 0, size_ = 1;
    MPI_Comm comm_;
};

}  // namespace cosmology
