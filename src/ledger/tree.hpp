// What dumps become part of: the tree of groups and datasets that readers open. One that nobody but
// us makes (CommitterTree) is one implementation, an application's HDF5 file another.
//
// Invariants:
//  - Called on the application's thread, inside collective calls alone.
//  - Every answer is the same on all ranks, and every call that changes something is made with the
//    same arguments in the same order on all ranks where it is made.
#pragma once

#include <optional>
#include <span>

#include "store/committer.hpp"

namespace caesura::ledger {

class Tree {
  public:
    using Built = Result<std::optional<store::CommitImage>>;
    /// What a commit adds. `dumps` ascend, each is complete; `records` are all their blocks, in any
    /// order. Of an application's file they say path, dtype, shape, chunk and pipeline of the
    /// datasets that have blocks, nothing else.
    struct Dumps {
        std::span<const store::DumpManifest> manifests;
        std::span<const store::ChunkRecord> records;
    };

    virtual ~Tree() = default;
    /// false: rank 0 alone gets records and builds.
    virtual bool records_on_all_ranks() const = 0;
    /// Regions begin at or beyond it. Ranks that do not agree on it are an error of the Writer's
    /// next collective call (internal: their trees are not the same any more).
    virtual std::uint64_t end() const = 0;
    /// From now on nothing of the tree may be allocated below `end`: regions have been reserved
    /// there. On all ranks.
    virtual void regions_end(std::uint64_t end) = 0;
    /// Has the tree changed by itself since the last build, so that there is something to commit
    /// without any dump? On all ranks; one rank's yes counts.
    virtual bool changed() const { return false; }
    /// Make dumps part of the tree, in memory. On rank 0, or on all ranks.
    ///
    /// @param file_end  end of all regions; see Committer::build, also for `trim`.
    /// @return  on rank 0 the image to be flushed, elsewhere nothing. Errors end all commits.
    virtual Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) = 0;
    /// Does a commit say a later end of the file than it needs, which the last one takes back? The
    /// same on all ranks.
    virtual bool runs_ahead() const { return false; }
    /// The image of the last build lies in the file; called before the next build. On the ranks
    /// that build. Errors end all commits.
    virtual Status flushed() { return {}; }
};

/// The tree of a file that nobody but us makes: rank 0 builds it with a Committer.
class CommitterTree final : public Tree {
  public:
    /// @param file  of the calling rank; outlives the tree. @param for_readers  as Committer's.
    CommitterTree(store::SharedFile& file, int rank, bool for_readers = false)
        : for_readers_(for_readers) {
        if (rank == 0) committer_.emplace(file, for_readers);
    }
    bool records_on_all_ranks() const override { return false; }
    // The ledger keeps account of what a commit adds to the file: CommitImage::file_end().
    std::uint64_t end() const override { return 0; }
    void regions_end(std::uint64_t) override {}
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override;
    bool runs_ahead() const override { return for_readers_; }

  private:
    bool for_readers_;
    std::optional<store::Committer> committer_;  ///< rank 0
};

}  // namespace caesura::ledger
