// What this process has decoded: the finest grid of any chunk, for each set of parameters.
//
// A chunk that HDF5 changes has been decoded in the same process before it is encoded again. So
// a process that has decoded nothing has only new values to encode, and one that has knows on which
// grid old ones lie.
//
// Invariants:
//  - What was noted is never forgotten, and grids only become finer.
//  - Any thread, at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "hdf5/filter/grid.hpp"

namespace caesura::hdf5 {

/// Chunks with values on that grid have been decoded. Throws std::bad_alloc.
void note_decoded(std::uint64_t parameters, Fineness finest);

/// The finest grid that was noted; nullopt: nothing was.
std::optional<Fineness> finest_decoded(std::uint64_t parameters);

/// While one lives, nothing seems to have been decoded before it was made. For processes that each
/// encode the same chunk and must get the same bytes, whatever each has decoded; not where HDF5 may
/// encode chunks of other datasets meanwhile.
class NothingDecoded {
  public:
    NothingDecoded();
    ~NothingDecoded();
    NothingDecoded(const NothingDecoded&) = delete;
    NothingDecoded& operator=(const NothingDecoded&) = delete;

  private:
    std::unordered_map<std::uint64_t, Fineness> before_;
};

/// As in a new process: for tests.
void forget_decoded();

}  // namespace caesura::hdf5
