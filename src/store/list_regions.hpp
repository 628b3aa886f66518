// What the regions of a file of ours say: what was reserved, and which blocks were written. HDF5's
// tree says the same of what it knows; where the two differ, something was lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "caesura/base.hpp"

namespace caesura::store {

struct RegionUse {
    std::uint32_t rank = 0;
    std::uint64_t dump = 0;
    std::optional<std::uint64_t> iteration;  ///< of the dump; none: its manifest is not there
    bool committed = false;
    std::uint64_t address = 0, bytes = 0;  ///< reserved; a later region may lie in its tail
    std::uint64_t blocks = 0, stored_bytes = 0;
};

/// Blocks of one dataset that were written in one committed dump.
struct WrittenBlocks {
    std::string path;
    /// Where the dataset's object header lies, so that one made later under the same name is told
    /// apart; 0: not known.
    std::uint64_t header = 0;
    Shape shape, chunk;                 ///< as they were in that dump
    std::vector<std::uint64_t> chunks;  ///< numbers in the chunk grid of that shape
};

/// Ascending by address. None: the file is not ours, or nothing was written yet. The regions'
/// headers are read, and no values. Errors: io, corrupt.
Result<std::vector<RegionUse>> list_regions(base::File& file, const std::string& path);
/// Of the dumps whose regions are still there, by dump. Errors: io, corrupt.
Result<std::vector<WrittenBlocks>> list_written(base::File& file, const std::string& path);

}  // namespace caesura::store
