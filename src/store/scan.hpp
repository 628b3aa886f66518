// Finds the regions of a file by looking at it, page by page.
//
// Invariants: reads only; whatever the bytes are, it ends, and takes memory in proportion to the
// records it finds. A block is listed when its prefix is valid and its bytes lie inside its region
// and the file; whether the bytes match their checksum is for the caller to ask.
#pragma once

#include "base/file.hpp"
#include "store/region_format.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {

struct FoundRegion {
    RegionHeader header;
    std::string manifest;   ///< text; empty if there is none or it is damaged
    std::uint64_t end = 0;  ///< one past the last byte of the last valid record
    std::vector<ChunkRecord> blocks;
};

/// All regions in [first_region_address(), end), ascending by address. Errors: io.
Result<std::vector<FoundRegion>> scan_regions(base::File& file, const RunId& run,
                                              std::uint64_t end);

/// Do the stored bytes match the record's checksum? Errors: io.
Result<bool> is_intact(base::File& file, const ChunkRecord& record);

}  // namespace caesura::store
