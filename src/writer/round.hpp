// What the ranks of a Writer tell each other at each end(), and what they agree on: one exchange of
// a Hello, errors, and the failure that ends everything.
//
// Invariant: failed() has the same code on all ranks, or the communicator has failed.
#pragma once

#include "ledger/book.hpp"
#include "writer/session.hpp"

namespace caesura::writer {

/// What every rank tells every other at each end().
struct Hello {
    std::int32_t code = 0;    ///< StatusCode of this rank's first error
    std::uint32_t fatal = 0;  ///< the error ends the writer, not just this dump
    std::uint32_t has_dump = 0;
    std::uint32_t has_puts = 0;
    std::uint32_t boxes_changed = 0;  ///< since the last dump
    std::uint32_t warnings = 0;       ///< that this rank has for rank 0 (Warnings::hand_over)
    std::uint64_t iteration = 0;
    std::uint64_t definitions = 0;  ///< hash of all define_field calls
    std::uint64_t metadata = 0;     ///< of what the dump's attributes are said to be
};

/// What the ranks have said, by rank.
struct Heard {
    std::vector<Hello> hellos;
    std::vector<std::vector<ledger::Statement>> statements;  ///< by file, then by rank
};

class Round {
  public:
    explicit Round(Session& session) : session_(session) {}

    /// Everybody's Hello, and statements of as many files on every rank. Collective.
    Result<Heard> exchange(const Hello& mine, std::span<const ledger::Statement> files);
    /// Errors of any rank, and disagreement between ranks. Same result on all ranks. Collective
    /// where one has an error.
    Status agree_on_errors(std::span<const Hello> all, const Status& mine);
    /// After Hellos that differ in it: the first difference, the same on all ranks. Collective.
    Status agree_on_metadata(std::span<const std::byte> mine);
    /// The lowest rank's error, the same on all ranks; ok if there is none. Collective.
    Status agree(const Status& mine);

    /// Sticky; ok as long as the Writer goes on.
    const Status& failed() const { return failed_; }
    Status fail(Status status) { return failed_ = std::move(status); }
    /// Only the first counts.
    void fail_at_first(const Status& status) {
        if (failed_.ok()) failed_ = status;
    }
    /// A call of the communicator has failed: none may follow.
    Status lost(Status status) {
        comm_failed_ = true;
        fail_at_first(status);
        return status;
    }
    bool comm_failed() const { return comm_failed_; }

  private:
    Session& session_;
    Status failed_;
    bool comm_failed_ = false;
};

bool any_error(std::span<const Hello> all);

}  // namespace caesura::writer
