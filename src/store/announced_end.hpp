// Where the file ends as readers see it, while commits are made.
//
// A stock reader asks for the file's length, then reads the superblock, then headers. A commit in
// between must not surprise it. What the superblock says may not exceed the length that the reader
// has seen, and no header may point beyond the end that the superblock has said. So both ends run
// ahead of the metadata: the superblock's by some commits, the file's by some more. The file grows,
// and none of its bytes changes. The last commit takes both back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace caesura::store {

struct AnnouncedEnd {
    std::uint64_t used = 0;        ///< where regions and metadata end
    std::uint64_t superblock = 0;  ///< what it says; at least `used`
    std::uint64_t file = 0;        ///< so long the file is to be; at least `superblock`
    std::uint64_t growth = 0;      ///< what one commit has added at most
};

/// @param used    where regions and metadata end after this commit.
/// @param before  as the last commit left it; all 0 before the first one.
inline AnnouncedEnd announce_end(std::uint64_t used, const AnnouncedEnd& before) {
    constexpr std::uint64_t k_least_growth_bytes = 256u << 10;
    constexpr std::uint64_t k_commits_ahead = 4;
    const std::uint64_t growth =
        std::max({used - std::min(used, before.used), before.growth, k_least_growth_bytes});
    AnnouncedEnd out{used, std::max(used, before.superblock), before.file, growth};
    // No reader has opened the file before its first commit.
    const bool is_first = before.superblock == 0;
    if (is_first || before.superblock < used + 2 * growth) {
        const std::uint64_t wanted = used + k_commits_ahead * growth;
        out.superblock =
            std::max(out.superblock, is_first ? wanted : std::min(wanted, before.file));
    }
    out.file = std::max(before.file, out.superblock + k_commits_ahead * growth);
    return out;
}

}  // namespace caesura::store
