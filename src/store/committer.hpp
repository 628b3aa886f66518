// The commit of dumps: their HDF5 metadata, built in memory and written journalled.
//
// Invariants:
//  - Data first, then metadata beyond the old end, then the journal, then the in-place metadata:
//    no committed dump is lost whatever instant the process dies at (decision D3).
//  - HDF5 is called on the caller's thread only. Everything a write lane calls (RegionWriter,
//    CommitImage::flush) is plain pwrite and fdatasync.
//  - Chunk addresses point past the block's prefix record; the chunk's size is exact.
#pragma once

#include "store/manifest.hpp"
#include "store/shared_file.hpp"

namespace caesura::store {

/// Metadata of finished dumps, ready to be flushed; see Committer::build.
class CommitImage {
  public:
    CommitImage();
    ~CommitImage();
    CommitImage(CommitImage&&) noexcept;
    CommitImage& operator=(CommitImage&&) noexcept;

    /// New metadata, sync, journal, sync, in-place bytes, sync, journal
    /// cleared. No HDF5. Any thread. After an error it may be called again; until it has
    /// succeeded the file is as before, or its journal brings it to the new state.
    /// @param durable  false leaves the syncs out: safe against the end of the process, not
    ///                 against the end of the machine.
    Status flush(SharedFile& file, bool durable = true);
    /// End of the file after this commit: nothing may be reserved below it.
    std::uint64_t file_end() const;
    /// Bytes of metadata (new and in place).
    std::uint64_t metadata_bytes() const;

    struct State;  ///< private to the store

  private:
    friend class Committer;
    friend class LiveImage;
    std::unique_ptr<State> state_;
};

struct Before;
struct Change;
struct CommitRecord;
struct PlacingState;

/// Builds the HDF5 metadata of dumps in memory. Exists on one rank. Calls HDF5.
class Committer {
  public:
    /// @param for_readers  more than one commit follows, and others open the file between them.
    explicit Committer(SharedFile& file, bool for_readers = false);
    ~Committer();
    Committer(Committer&&) noexcept;

    /// @param dumps       manifests, ascending by dump.
    /// @param records     all chunks of those dumps, any order (sorted here).
    /// @param file_end    end of all reserved regions: metadata goes at or beyond it, and the
    ///                    stored end of the file is never below it.
    /// @param trim        at close: the caller promises that nothing at or beyond file_end is in
    ///                    use. The stored end may then become lower, and flush cuts the file there.
    /// The image of the commit before must have been flushed. On error the file is as before.
    /// Groups and group attributes that exist already stay as they are. Touches no filter that
    /// the process has registered, and loads no plugin.
    /// Errors: invalid_argument (a chunk missing, twice, or outside the grid: names the dataset),
    /// cancelled (an image is not flushed yet), internal (HDF5 refused; carries its message).
    Result<CommitImage> build(std::span<const DumpManifest> dumps,
                              std::span<const ChunkRecord> records, std::uint64_t file_end,
                              bool trim = false);
    /// Take committed dumps out of the tree, while nobody else has the file. Their blocks stay
    /// where they are, and are nobody's. @param groups  absolute paths, one a dump. Errors: as
    /// build()'s; invalid_argument (nothing is committed).
    Result<CommitImage> take_out(std::span<const std::string> groups);

  private:
    Status expect_flushed();
    void announce(PlacingState& state, const Before& before, CommitImage::State& image,
                  CommitRecord& record);
    Result<CommitImage> image_of(PlacingState& state, Change& change, const Before& before,
                                 CommitRecord record, bool trim);
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace caesura::store
