// The checkpoints that have reached the host: in its memory up to a budget, the rest in a store.
//
//     arrived ──► memory ──► written in the background ──► room for others
//                   ▲                                  │
//                   └── read back, ahead of restores ◄─┘
//
// Invariants:
//  - arrived_bytes() + what make_room() promised is at most room_bytes; what is read back has
//    ahead_bytes of its own.
//  - Memory is given up only for what was written. An error of the store loses nothing: what was
//    not written stays, and is written when there is need, again.
//  - Store and bookkeeping are the caller's thread's; the background runs the store's work, and
//    touches the bytes of what it writes or reads back.
#pragma once

#include <map>

#include "caesura/checkpointer.hpp"
#include "checkpoint/background.hpp"
#include "checkpoint/word_runner.hpp"

namespace caesura::checkpoint {

struct HostCacheOptions {
    std::shared_ptr<CheckpointStore> store;  ///< may be null: then all stays in memory
    std::uint64_t room_bytes = 0, ahead_bytes = 0;
    std::uint64_t write_beyond_bytes = 0;  ///< more than this that is not written is written
    double commit_every_s = 1.0;
};

struct HostCacheReport {
    std::uint64_t written_bytes = 0;  ///< to the store
    std::uint64_t reads = 0,
                  read_ahead = 0;  ///< parcels from the store; before they were asked for
    double waited_s = 0.0;         ///< of real time, for the store
    Status trouble;                ///< of the store; ok again when another attempt succeeded
};

class HostCache {
  public:
    explicit HostCache(HostCacheOptions options) : options_(std::move(options)) {}
    /// Waits for what the store is doing, and commits what was written.
    ~HostCache();
    HostCache(const HostCache&) = delete;
    HostCache& operator=(const HostCache&) = delete;

    /// What the store had already: parcels 0 to n - 1.
    std::vector<CheckpointStore::Kept> begin();
    /// A parcel has arrived. @return its number; they count up.
    std::size_t add(Arrived&& parcel);
    /// So many bytes more may arrive. Waits for the store where it must.
    /// Errors: those of the store; nothing is lost, and it may be called again.
    Status make_room(std::uint64_t bytes);
    /// Gives the background what there is to do. Does not wait for it.
    void advance();
    /// Everything is written and committed. Errors: those of the store; it may be called again.
    Status save();

    std::size_t parcels() const { return parcels_.size(); }
    bool is_compressed(std::size_t parcel) const { return parcels_[parcel].compressed; }
    std::uint64_t bytes(std::size_t parcel) const { return parcels_[parcel].size; }
    bool in_memory(std::size_t parcel) const { return parcels_[parcel].where == Where::memory; }
    /// Its bytes, which stay until unpin(). Reads them back where they are not in memory.
    /// Errors: those of the store.
    Result<std::span<const std::byte>> pin(std::size_t parcel);
    void unpin(std::size_t parcel);
    /// `parcel` is in use, and those at `step` (1 or -1), 2 step, ... from it come next.
    void read_ahead(std::size_t parcel, std::ptrdiff_t step);

    std::uint64_t memory_bytes() const { return arrived_bytes_ + back_bytes_; }
    HostCacheReport report() const;

  private:
    enum class Where { memory, coming, store };  ///< coming: being read back
    struct Parcel {
        std::vector<std::uint64_t> ids;
        bool compressed = false, written = false;
        bool is_copy = false;  ///< read back: counts as back_bytes_
        Where where = Where::memory;
        int pins = 0;
        std::uint64_t size = 0, ticket = 0;  ///< of the job that reads it back
        HostBytes bytes;
    };
    /// Parcels [first, end) are being written.
    struct Batch {
        std::size_t first = 0, end = 0;
        CheckpointStore::Work work;
        std::uint64_t ticket = 0;  ///< 0: failed, to be given again
    };

    void note_done();
    void note_written(const Status& status);
    void write_oldest(std::uint64_t beyond_bytes);
    void give_batch();
    void commit_if_due(double every_s);
    Status commit_all();
    Status wait_for_batch();
    Status read_now(Parcel& parcel);
    bool make_back_room(std::uint64_t bytes, std::size_t from, std::size_t to);
    void forget_bytes(Parcel& parcel);

    HostCacheOptions options_;
    std::vector<Parcel> parcels_;
    std::size_t evicted_ = 0;            ///< parcels before it are not in memory, or copies
    std::size_t unwritten_ = 0;          ///< parcels before it are written, or being written
    std::uint64_t unwritten_bytes_ = 0;  ///< of parcels from there on
    std::uint64_t arrived_bytes_ = 0, back_bytes_ = 0;
    std::vector<std::size_t> copies_;  ///< in memory or coming
    std::optional<Batch> batch_;
    std::uint64_t commit_ticket_ = 0;
    bool uncommitted_ = false;  ///< the store may have something to commit
    double committed_at_s_ = 0.0;
    HostCacheReport report_;
    Status write_trouble_, commit_trouble_;
    Background background_;  // last: it goes first, while the bytes are still there
};

}  // namespace caesura::checkpoint
