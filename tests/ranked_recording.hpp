// What the ranks of a run did to their shared file, in the order in which it happened, and which
// rank did it: what a crash may have left is any prefix, less what its rank had not synced.
//
// Invariants:
//  - A rank's sync vouches for that rank's own writes only, as on file systems whose clients cache.
//  - Operations of different ranks happen one at a time, so that the recorded order is the real
//    one.
//  - Syncs are noted, not forwarded.
#pragma once

#include <mutex>

#include "base/file.hpp"

namespace caesura::testing {

struct Operation {
    enum class Kind { write, truncate, extend, sync, sync_directory };
    Kind kind = Kind::sync;
    int rank = 0;
    std::uint64_t offset = 0;  ///< of a write; new length of a truncate
    std::vector<std::byte> bytes;
};

/// The file after these operations, the last of which, a write, only got so far.
/// @param last_bytes  of the last write; everything by default.
std::vector<std::byte> file_after(std::span<const Operation* const> operations,
                                  std::size_t last_bytes = ~std::size_t{0});

class RankedRecording {
  public:
    explicit RankedRecording(int n_ranks);
    ~RankedRecording();

    /// The file system to hand to one rank's writer. One path.
    base::FileSystem& of(int rank) { return *views_[static_cast<std::size_t>(rank)]; }
    std::size_t size() const;

    /// After the run only.
    const std::vector<Operation>& operations() const { return operations_; }
    /// Has the rank of operation `i` synced it within the first `count` operations?
    bool is_synced(std::size_t i, std::size_t count) const;

  private:
    class View;
    class ViewFile;

    mutable std::mutex order_;
    std::vector<Operation> operations_;
    std::vector<std::unique_ptr<base::FileSystem>> views_;
};

}  // namespace caesura::testing
