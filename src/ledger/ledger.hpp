// The ledger of a file: which dumps there are, which bytes belong to whom, and what is committed.
// All that goes on between "a rank has written its blocks" and "every reader sees the dump":
//
//     gather   the records of dumps that are durable everywhere come to the ranks that build
//     build    their metadata, in memory (Tree)
//     flush    the image goes to the file; any thread, no HDF5, no communication
//     settle   all know that it lies there: hear(), or settle() where no Statements go round
//
// Whoever makes dumps does so through one of these: a Writer on n ranks, a file of checkpoints on
// one, a captured file. What they may do when, and where bytes go, the Book says (book.hpp).
//
// | call                                        | collective | communicates             |
// |---------------------------------------------|------------|--------------------------|
// | begin, wrote, abandon, statement, flush     | no         | no                       |
// | hear, reserve, place_overflow, build, settle| yes        | no                       |
// | note_completed                              | yes        | no                       |
// | gather, agree_on_end                        | yes        | yes                      |
//
// Application's thread, but for flush(). "Collective": on all ranks in the same order.
#pragma once

#include <atomic>

#include "ledger/book.hpp"
#include "ledger/tree.hpp"
#include "store/committer.hpp"

namespace caesura::ledger {

class Ledger {
  public:
    /// What it is about; all of it outlives the ledger.
    struct Subject {
        store::SharedFile& file;
        Tree& tree;
        Communicator& ranks;
        bool durable = true;  ///< flush() waits for the disk
    };
    /// @param next_dump  of what the file holds all are below it.
    /// @param file_end   nothing in use lies at or beyond it. Both are the same on all ranks.
    Ledger(const Subject& subject, std::uint64_t next_dump, std::uint64_t file_end);
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    store::SharedFile& file() const { return subject_.file; }
    /// The numbers; what changes them and nothing else is called there.
    Book& book() { return book_; }
    const Book& book() const { return book_; }
    /// Does this rank make dumps part of the tree? So does rank 0 at least.
    bool builds() const {
        return subject_.ranks.rank() == 0 || subject_.tree.records_on_all_ranks();
    }

    // ---- a dump on this rank
    /// @param manifest  on ranks that build.
    /// @return  Book::begin().
    std::vector<Book::Place> begin(store::DumpManifest manifest, std::span<const Extent> extents);
    /// What a rank has written of a dump.
    struct Wrote {
        std::span<const store::ChunkRecord> records;
        std::span<const Extent> tails;
        std::uint64_t used_end = 0;
        Overflow overflow;
    };
    /// Errors: internal (Book::wrote); then nothing is taken.
    Status wrote(std::uint64_t dump, const Wrote& wrote);
    /// Nobody will ever write it.
    Status abandon(std::uint64_t dump);

    // ---- the exchange
    Statement statement(bool flushed = true);
    /// @param alike  the trees must have the same end: false after an error of some rank.
    /// Errors: internal (they have not); of Tree::flushed() in `of_tree`, this rank's own.
    Status hear(std::span<const Statement> all, bool alike, Status& of_tree);
    std::vector<Book::Place> place_overflow();
    Result<Extent> reserve(std::span<const std::uint64_t> bytes);

    // ---- the commit
    /// What came with the records of the ranks, by rank, and which records came.
    struct Gathered {
        std::vector<Communicator::Bytes> asides;
        std::span<const store::ChunkRecord> records;  ///< on ranks that build, until build()
    };
    /// @param until  Heard::durable_dumps.
    /// @param aside  goes along to the ranks that build.
    /// Errors: the communicator's.
    Result<Gathered> gather(std::uint64_t until, std::span<const std::byte> aside = {});
    /// The manifest of a dump that is gathered and not yet built; null: there is none, or it is an
    /// application's, which has no attributes of ours.
    store::DumpManifest* gathered_manifest(std::uint64_t dump);
    /// Are there dumps for the next build()? On ranks that build.
    bool anything_gathered() const { return !manifests_.empty(); }
    /// On all ranks, if Book::may_build(); those that do not build keep the account only.
    /// Errors: those of the tree, this rank's own.
    Status build(bool trim);
    /// Of one rank alone: the build that has failed may be tried again.
    void withdraw_build() { book_.withdraw_build(); }
    /// After build(), where records are on all ranks: images of the same tree are not the same to
    /// the byte. Errors: the communicator's.
    Status agree_on_end();
    /// Rank 0: is there an image that flush() has not brought to the file?
    bool flush_due() const { return image_.has_value() && !lies_there_; }
    /// Errors: those of the file. It may be tried again.
    Status flush();
    /// The file has been completed from what lies in it (store::complete_closed), and all ranks
    /// know that. The tree is not told: nothing uses it any more.
    void note_completed();
    /// Where no Statements go round: all ranks know that rank 0 has flushed.
    Status settle();

  private:
    struct Page {
        store::DumpManifest manifest;
        std::vector<store::ChunkRecord> records;  ///< of this rank
        bool abandoned = false;
    };
    Tree::Built build_tree(std::uint64_t file_end, bool trim);
    void take_note_of_flush();

    Subject subject_;
    Book book_;
    std::deque<Page> pages_;  ///< dumps [Book::gathered(), Book::next_dump())
    // On ranks that build: gathered and not yet built.
    std::vector<store::DumpManifest> manifests_;
    std::vector<store::ChunkRecord> records_;
    std::optional<store::CommitImage> image_;  ///< rank 0
    std::atomic<bool> lies_there_{false};      ///< image_ is flushed
};

}  // namespace caesura::ledger
