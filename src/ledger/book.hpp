// The ledger's numbers, as one rank keeps them: which dumps there are, how far each has come, which
// bytes of the file belong to whom, and where the file ends. No file, no HDF5, no communication:
// ranks exchange Statements, and every rank draws the same conclusions from the same Statements.
//
// The way of a dump (each arrow is one call; a call out of order is an error and changes nothing):
//
//     begin ─► writing ─wrote─► durable ─gather─► gathered ─build─► built ─hear─► committed
//                ▲  └─wrote─► overflowing ─┐           (flushed() on rank 0 comes between)
//                └───place_overflow────────┘
//     writing or overflowing ──abandon──► abandoned, which goes on as one that is durable and empty
//
// Invariants:
//  - committed() <= built() <= gathered() <= next_dump(); dumps pass each mark in their order.
//  - What a rank was given of the file belongs to it alone: it is used once, or free, or forgotten.
//  - Fresh space begins at or beyond everything that is in use, the tree's metadata included.
//  - At most one build is unsettled at a time.
//  - Space is handed out between hear() and build() only, while all ranks know the same end.
#pragma once

#include <deque>
#include <span>

#include "ledger/free_space.hpp"
#include "store/region_writer.hpp"

namespace caesura::ledger {

/// What a rank tells the others at each exchange. Plain: travels as bytes.
struct Statement {
    std::uint64_t durable_dumps = 0;    ///< dumps before this number are durable on this rank
    std::uint64_t overflow_bytes = 0;   ///< space wanted for blocks that wait
    std::uint64_t used_end = 0;         ///< end of what this rank has used of the file
    std::uint64_t file_end = 0;         ///< rank 0: nothing is reserved beyond it
    std::uint64_t committed_dumps = 0;  ///< rank 0: dumps before this number are committed
    std::uint64_t image_pending = 0;    ///< rank 0: the last image is not flushed (yet)
    std::uint64_t tree_end = 0;         ///< Tree::end(), the same on all ranks
    std::uint64_t tree_changed = 0;     ///< Tree::changed()
    std::uint64_t spoiled = 0;          ///< nothing may be committed any more
};

enum class Stage : std::uint8_t {
    writing,
    overflowing,
    durable,
    abandoned,
    gathered,
    built,
    committed
};

/// Blocks of one dump that found no room.
struct Overflow {
    std::uint64_t blocks = 0, stored_bytes = 0;
};

/// What all ranks have said together, as heard last.
struct Heard {
    std::uint64_t durable_dumps = 0;    ///< on every rank
    std::uint64_t overflow_bytes = 0;   ///< of all ranks
    std::uint64_t overflow_before = 0;  ///< of the lower ranks
    std::uint64_t used_end = 0;         ///< of all ranks and the tree
};

/// What is next when everything handed over is to be finished.
enum class Step : std::uint8_t { place_overflow, gather, gather_and_trim, build, trim, nothing };
/// What the ranks know besides; the same on all of them.
struct Finishing {
    bool closing = false;        ///< then what is reserved and not needed is given back
    bool trimmed = false;        ///< and that has been done
    bool failed = false;         ///< nothing new is begun
    bool rank_0_failed = false;  ///< its lanes flush no more
};

class Book {
  public:
    using Place = store::RegionWriter::Place;
    struct Opening {
        int rank = 0;
        std::uint64_t next_dump = 0;  ///< of what the file holds all are below it
        std::uint64_t file_end = 0;   ///< nothing in use lies at or beyond it
        bool runs_ahead = false;      ///< Tree::runs_ahead()
    };
    explicit Book(const Opening& opening);
    /// Fresh space begins at multiples of it, on all ranks alike. Before anything is reserved.
    void set_stripe(std::uint64_t bytes) { stripe_bytes_ = bytes; }

    // ---- space
    /// All that is free, to be used by the next dump; what is not comes back by give_back().
    std::vector<Extent> take_free() { return free_.take_all(); }
    void give_back(std::span<const Extent> extents);
    /// Fresh space for a dump on all ranks. @param bytes  by rank, whole stripes. @return  ours.
    /// Errors: internal (several ranks, of which one has built since the last hear(): they do not
    /// know the end of the file).
    Result<Extent> reserve(std::span<const std::uint64_t> bytes);

    // ---- a dump on this rank
    /// The next dump gets these stretches; {} is possible. @return  for the region writers.
    std::vector<Place> begin(std::span<const Extent> extents);
    /// All its blocks are on disk but those that overflowed.
    /// @param tails     what is unused of its places.
    /// @param used_end  end of what is used of them; 0: nothing is.
    Status wrote(std::uint64_t dump, std::span<const Extent> tails, std::uint64_t used_end,
                 const Overflow& overflow = {});
    /// Nobody will ever write it. Its places stay unused.
    Status abandon(std::uint64_t dump);
    Stage stage(std::uint64_t dump) const;

    // ---- the exchange
    /// @param flushed  false: count a finished flush as not finished yet.
    Statement statement(std::uint64_t tree_end, bool tree_changed, bool flushed) const;
    /// @param all  by rank. @return  true: the last build is settled now, tell the tree.
    [[nodiscard]] bool hear(std::span<const Statement> all);
    const Heard& heard() const { return heard_; }
    /// Each dump that overflows gets a place at the end of the file. @return  ours, in their order.
    std::vector<Place> place_overflow();
    /// Nothing may be committed any more.
    void spoil() { spoiled_ = true; }
    bool spoiled() const { return spoiled_; }

    // ---- the commit
    /// Dumps before this number leave the list: everybody has told what it wrote of them.
    /// Errors: internal (one is not durable here).
    Status gather(std::uint64_t until);
    bool may_build(bool trim) const;
    /// Nothing that was built is on its way to the file, as heard last.
    bool is_settled() const { return !image_pending_ && !unsettled_; }
    /// What is gathered is given to the tree. @return  the end of the file for the image.
    /// Errors: internal (the build before is not settled).
    Result<std::uint64_t> build(bool trim);
    /// This rank's tree could not take the dumps in: it is never told that they are settled, and on
    /// rank 0 nothing is committed any more.
    void build_failed() { image_ = Image::failed; }
    bool has_failed_build() const { return image_ == Image::failed; }
    /// Of one rank alone: the build has failed, and the dumps are as before it.
    void withdraw_build();
    /// Rank 0: the image is made, and ends here.
    void made_image(std::uint64_t image_end);
    /// Rank 0: the image lies in the file. Errors: internal (there is none).
    Status flushed();
    /// The ranks have agreed that the image lies in the file. Errors: internal (not flushed).
    Status settle();
    /// All dumps have been committed from the file alone, and there are no more.
    void note_completed();
    Step next_step(const Finishing& state) const;

    std::uint64_t first_dump() const { return first_; }
    std::uint64_t next_dump() const { return next_; }
    std::uint64_t gathered() const { return gathered_; }
    std::uint64_t built() const { return built_; }
    std::uint64_t committed() const { return committed_; }
    std::uint64_t file_end() const { return file_end_; }
    std::uint64_t free_bytes() const { return free_.bytes(); }
    std::uint64_t reserved_bytes() const { return reserved_bytes_; }
    std::uint64_t stripe_bytes() const { return stripe_bytes_; }

  private:
    struct Entry {
        Stage stage = Stage::writing;
        std::uint64_t overflow_bytes = 0;  ///< with what a region needs, in whole stripes
    };
    enum class Image : std::uint8_t { none, pending, flushed, failed };
    Result<Entry*> find(std::uint64_t dump, std::string_view call);
    Place place(std::uint64_t dump, const Extent& extent);
    std::uint64_t durable_dumps() const;
    void to_next_stripe();

    int rank_;
    bool runs_ahead_;
    std::uint64_t stripe_bytes_ = store::k_region_alignment;
    std::uint64_t first_, next_, gathered_, built_, committed_;
    std::deque<Entry> open_;  ///< dumps [gathered_, next_)
    std::uint64_t file_end_, used_end_;
    FreeSpace free_;
    std::uint64_t last_region_ = 0;
    std::uint64_t reserved_bytes_ = 0;
    Heard heard_;
    /// Of the last build. `failed` is possible on every rank, `pending` and `flushed` on rank 0.
    Image image_ = Image::none;
    bool unsettled_ = false;  ///< a build of which the tree has not been told that it is flushed
    bool image_pending_ = false;  ///< on rank 0, as heard last
    bool end_is_agreed_ = true;   ///< file_end_ is the same on all ranks
    bool tree_changed_ = false;   ///< there is something to commit even without a dump
    bool spoiled_ = false;
};

}  // namespace caesura::ledger
