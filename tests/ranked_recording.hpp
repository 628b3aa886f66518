// What the ranks of a run did to their shared file, in the order in which it happened, and which
// rank did it: what a crash may have left is any prefix, less what its rank had not synced.
//
// Invariants:
//  - A rank's sync vouches for that rank's own writes only, as on file systems whose clients cache.
//  - Operations of different ranks happen one at a time, so that the recorded order is the real
//  one.
#pragma once

#include <mutex>

#include "store/recording_file_system.hpp"

namespace caesura::testing {

class RankedRecording {
  public:
    explicit RankedRecording(base::FileSystem& inner, int n_ranks);

    /// The file system to hand to one rank's writer.
    base::FileSystem& of(int rank) { return *views_[static_cast<std::size_t>(rank)]; }
    std::size_t size() const { return log_.size(); }

    /// After the run only: operations, and the rank of each.
    const std::vector<store::Operation>& operations() const { return log_.operations(); }
    const std::vector<int>& ranks() const { return ranks_; }
    /// Has the rank of operation `i` synced it within the first `count` operations?
    bool is_synced(std::size_t i, std::size_t count) const;

  private:
    class View;
    class ViewFile;

    store::RecordingFileSystem log_;
    std::mutex order_;
    std::vector<int> ranks_;
    std::vector<std::unique_ptr<base::FileSystem>> views_;
};

}  // namespace caesura::testing
