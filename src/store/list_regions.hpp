// What was reserved in a file of ours, and what lies there: a row for each region.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace caesura::store {

struct RegionUse {
    std::uint32_t rank = 0;
    std::uint64_t dump = 0;
    std::optional<std::uint64_t> iteration;  ///< of the dump; none: its manifest is not there
    bool committed = false;
    std::uint64_t address = 0, bytes = 0;  ///< reserved; a later region may lie in its tail
    std::uint64_t blocks = 0, stored_bytes = 0;
};

/// Ascending by address. None: the file is not ours, or nothing was written yet. The regions'
/// headers are read, and no values. Errors: io, corrupt.
Result<std::vector<RegionUse>> list_regions(base::File& file, const std::string& path);

}  // namespace caesura::store
