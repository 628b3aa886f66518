// The ranks of a communicator, as plain numbers that outlive it.
#pragma once

#include <mpi.h>

#include <vector>

namespace caesura::vol {

/// Numbers in MPI_COMM_WORLD, in the order of the communicator. Two congruent communicators have
/// the same. Empty: not known (processes that were spawned later), and never the same as others.
using Ranks = std::vector<int>;

/// Between MPI_Init and MPI_Finalize. Local.
bool inside_mpi();
/// Local.
Ranks ranks_of(MPI_Comm communicator);

inline bool congruent(const Ranks& a, const Ranks& b) { return !a.empty() && a == b; }
/// Is every one of `part` among `all`?
bool covers(const Ranks& all, const Ranks& part);

}  // namespace caesura::vol
