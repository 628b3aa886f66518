// An HDF5 file kept open through the placing driver for as long as the application has it open, on
// every rank. Everything the library writes stays in this process's memory; again and again one of
// the processes commits its metadata, without the HDF5 file being closed.
//
// Ranks do not talk to each other here. They stay alike because they make the same calls: every
// call of HDF5 that allocates or writes metadata, and every call below marked "all ranks alike", in
// the same order with the same values. Then all addresses are equal, and any rank's metadata is
// everybody's. end() is the number to compare.
//
// Invariants:
//  - Nothing reaches the file but through RawBatch::write and CommitImage::flush.
//  - The library is never given an address twice, and is given none below move_end()'s floor.
//  - What is committed is openable by stock readers while the run goes on: status flags 0, and the
//    stored end covers everything.
//  - A placing that failed, or any other error of the driver, ends all commits: the library has
//    then freed what it should not have. The file stays as of the last commit.
//
// Application's thread only; CommitImage and RawBatch may go to a lane.
#pragma once

#include <functional>

#include "store/closed_tree.hpp"
#include "store/committer.hpp"
#include "store/placing_driver.hpp"
#include "store/region_format.hpp"

namespace caesura::store {

class LiveImage {
  public:
    /// Before the HDF5 file is made or opened; outlives it. Reads superblock and commit record.
    /// For a file that exists: SharedFile::of_open says whether it is one of ours (`unsupported`,
    /// naming the path, if not), and `recover` on one rank comes before the ranks open it.
    /// Errors: io; corrupt (damaged, or a commit was cut off: recover first).
    static Result<std::unique_ptr<LiveImage>> make(SharedFile& file);
    ~LiveImage();
    LiveImage(const LiveImage&) = delete;
    LiveImage& operator=(const LiveImage&) = delete;

    /// No superblock yet: the caller makes the HDF5 file (H5Fcreate), else it opens it read-write.
    bool creating() const;
    /// Dumps that are committed, the newest of all sessions of the file: the next number to use.
    std::uint64_t next_dump() const;

    /// May a file with this creation list live here? ok, or unsupported with the reason: a user
    /// block, paged or persistent free space, addresses or sizes that are not 8 bytes. Of a file
    /// that exists (H5Fget_create_plist) also unsupported: free space that the library would hand
    /// out again, i.e. one that prepare_creation() has not seen.
    static Status supports(hid_t fcpl, bool exists = false);
    /// Change a creation list that supports() accepts: free space is dropped and never handed out
    /// again, because a placed chunk must not get an address that the library remembers. All else
    /// stays. Errors: internal (HDF5 refused).
    static Status prepare_creation(hid_t fcpl);
    /// Change the application's access list so that it opens the file on this image: driver, native
    /// connector, alignment 1, no page buffer, no chunk cache, no collective metadata. Version
    /// bounds: the low one is v110 at least, the high one stays.
    /// Closing degree, metadata cache and all else stay. A dataset access list with a chunk cache
    /// of its own must be given none for a dataset without filters: a cache writes whole chunks,
    /// and with them bytes of other ranks. Errors: unsupported (a high bound below v110), internal
    /// (HDF5 refused).
    Status set_driver(hid_t fapl);

    /// Nothing of the image lies at or beyond it. All ranks alike.
    std::uint64_t end() const;
    /// From now on the image allocates at `floor` or beyond. All ranks alike, before anything is
    /// reserved in [end(), floor).
    void move_end(std::uint64_t floor);

    /// Let the library's own chunk write record (address, bytes) and move nothing. All ranks alike.
    /// @param chunk_write  calls H5Dwrite_chunk (or its VOL form) with the buffer and the number of
    ///                     bytes given. Called up to three times: a chunk that exists already with
    ///                     the same number of bytes would stay where it is, so it first gets
    ///                     another size.
    /// The bytes of a chunk that is replaced stay unused. Errors: invalid_argument (not below
    /// end()), unsupported (a chunk without filters that exists already cannot move; where it lies
    /// is in the message), internal (HDF5 refused; ends all commits).
    Status place(std::uint64_t address, std::uint64_t bytes,
                 const std::function<herr_t(const void* buffer, std::size_t bytes)>& chunk_write);

    /// While one lives, raw data that the library writes are fill values of space that is new: made
    /// around the calls that create or extend a dataset with early allocation. All ranks alike.
    class Filling {
      public:
        /// @param at_once  datasets are allocated early whatever their creation lists say.
        /// @param alone    one process has the file. It writes fill values over space that was used
        ///                 before, as data: where all chunks have their place for good, a dataset
        ///                 that had shrunk gets the same ones again when it grows.
        explicit Filling(LiveImage& image, bool at_once = false, bool alone = false);
        ~Filling();
        Filling(const Filling&) = delete;
        Filling& operator=(const Filling&) = delete;

      private:
        PlacingState* placing_;
        bool at_once_;
    };
    /// While one lives, what the library writes is metadata, also large values of attributes, which
    /// HDF5 writes as raw data: made around attributes that are set after take_raw(), for a commit
    /// that is to hold them. All ranks alike.
    class Describing {
      public:
        explicit Describing(LiveImage& image);
        ~Describing();
        Describing(const Describing&) = delete;
        Describing& operator=(const Describing&) = delete;

      private:
        LiveLayers* layers_;
    };
    /// Fill values since the last call; null if there are none. Zeros are never among them: new
    /// space reads as zeros. All ranks have the same. One writes them before any rank may write its
    /// raw data, the others call mark_written() on theirs when that is done.
    std::shared_ptr<RawBatch> take_fill();
    /// This process's raw data written through the library since the last call and not placed; null
    /// if there are none. The caller writes batches in the order taken, before a commit that is to
    /// contain them. Until RawBatch::write has returned, reads see them here, then in the file.
    /// Which of two ranks' data stays that wrote the same bytes between two takes is not said, as
    /// in MPI-IO without a sync: a caller that must keep their order takes, writes and waits in
    /// between.
    std::shared_ptr<RawBatch> take_raw();
    /// Memory held by metadata that is not committed.
    std::uint64_t metadata_memory_bytes() const;

    /// All metadata since the last commit, as an image for one rank to flush; the others let theirs
    /// go. All ranks alike, after H5Fflush on the file (or after it was closed), with all raw data
    /// that belong to it durable in the file before CommitImage::flush. The HDF5 file stays open
    /// and usable. Moves end().
    /// @param dumps     go into the commit record, ascending.
    /// @param file_end  end of all reserved regions; the stored end of the file is never below it.
    /// @param trim      at close: nothing at or beyond file_end is in use but by this image; flush
    ///                  cuts the file behind the last used byte.
    /// Errors: cancelled (the commit before is not settled: flush its image, then committed(), or
    /// drop it), invalid_argument (not flushed; a dump twice), whatever ended the commits.
    Result<CommitImage> commit(std::span<const std::uint64_t> dumps, std::uint64_t file_end,
                               bool trim = false);
    /// What this image has and the file has not, for a file that is closed before its last commit.
    /// After H5Fflush. `address`, `first_dump` and `dumps_end` are the caller's to set.
    /// Errors: cancelled (the last commit has neither been flushed nor dropped), whatever ended the
    /// commits.
    Result<ClosedTree> closing() const;
    /// Take it up again, before the HDF5 file is opened.
    /// @param floor  the image allocates there or beyond, and nothing of the file lies there.
    /// Errors: corrupt (it does not belong to what is committed).
    Status restore(const ClosedTree& tree, std::uint64_t floor);
    /// The last image has been flushed by the rank that flushes: its metadata is read from the file
    /// from now on. All ranks alike, before the next commit. Without this call the next commit
    /// contains the last one again (whose image must not have been flushed).
    /// Errors: internal (this process's own flush has not succeeded).
    Status committed();

  private:
    struct State;
    explicit LiveImage(std::unique_ptr<State> state);
    Status place_once(std::uint64_t address, std::uint64_t bytes,
                      const std::function<herr_t(const void*, std::size_t)>& chunk_write);
    static Status set_properties(hid_t fapl);
    Status settle_last();
    Status freeze(std::uint64_t end, bool pad);
    std::unique_ptr<State> state_;
};

}  // namespace caesura::store
