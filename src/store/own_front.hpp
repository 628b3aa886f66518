// What the front of a file of ours says before HDF5 reads it: so that HDF5 sees the committed
// state, also beside a writer or after one that was killed.
#pragma once

#include <string>

#include "store/placing_driver.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

struct OwnFront {
    bool ours = false;
    bool empty = false;  ///< ours, and nothing committed yet
    bool needs_recover = false;
    RunId run{};
    CommitRecord record{};
};

/// Puts the journal's overwrites into the state's overlay, so that HDF5 reads the file as it will
/// be after recovery. Errors: io, corrupt.
Result<OwnFront> read_own_front(PlacingState& state, const std::string& path);

}  // namespace caesura::store
