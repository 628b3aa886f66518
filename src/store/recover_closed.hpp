// The last commit of a file that its application had closed before the run died.
#pragma once

#include "store/closed_tree.hpp"
#include "store/committer.hpp"

namespace caesura::store {

/// A dump that lies in the file whole.
struct ClosedDump {
    const DumpManifest& manifest;
    std::span<const ChunkRecord> blocks;
};

/// Build what the application would have committed: its tree, and all blocks in their datasets.
/// @param dumps        ascending. @param regions_end  nothing of them lies at or beyond it.
/// Errors: internal, invalid_argument (HDF5 refused; the tree is not of this file), io.
Result<CommitImage> build_closed(SharedFile& file, const ClosedTree& tree,
                                 std::span<const ClosedDump> dumps, std::uint64_t regions_end);

}  // namespace caesura::store
