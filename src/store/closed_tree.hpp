// What a run writes down when its application closes a file whose blocks are still being written:
// the metadata that the application has made, which no commit has taken yet. With it `recover`
// makes the commit that the application would have made (decision D37).
//
// Its header has a fixed place, its pages lie beyond everything that the commit to come may write.
//
// Invariants:
//  - It is valid for one commit: the one after `sequence`. What is committed makes it stale.
//  - A run that has blocks in flight and no such record says so there (mark_open), so that whoever
//    opens the file next recovers it first: numbers of dumps that were lost come again.
#pragma once

#include "store/overlay.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

inline constexpr std::uint64_t k_closed_tree_address = 4224;
inline constexpr std::size_t k_closed_tree_bytes = 128;

/// At least so long is the hole before what only the last commit of a closed file needs: blocks
/// that had no room, and the tree's pages.
inline constexpr std::uint64_t k_least_hole_bytes = std::uint64_t{1} << 20;

struct ClosedTree {
    std::uint64_t sequence = 0;                   ///< of the commit that it builds on
    std::uint64_t first_dump = 0, dumps_end = 0;  ///< not committed yet: [first, end)
    std::uint64_t end = 0;                        ///< nothing that the application made lies there
    std::uint64_t address = 0;                    ///< of the pages, as they lie in the file
    std::vector<Extent> pages;                    ///< ascending
};

/// Pages first, header last. Not synced. @return bytes written. Errors: io.
Result<std::uint64_t> write_closed_tree(SharedFile& file, const ClosedTree& tree);
/// nullopt: none, or not whole. Errors: io.
Result<std::optional<ClosedTree>> read_closed_tree(base::File& file, const RunId& run);

/// Not synced. Errors: io.
Status mark_open(SharedFile& file);
/// Neither a mark nor a record any more.
Status clear_closed_tree(base::File& file);
/// Is there a record, whole or not? Errors: io, corrupt (no file of ours).
Result<bool> is_closed(base::File& file);
/// Is there either of them? Errors: io.
Result<bool> is_open_or_closed(base::File& file);

}  // namespace caesura::store
