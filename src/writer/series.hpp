// The files that a Writer's dumps go to, if they are several: each dump, or each k of them, has one
// of its own (openPMD's file-based encoding).
//
//     filled    the current file; before its first dump is handed over it is not made yet
//     pending   it has all its dumps: lanes and commits go on, while the next one is filled
//     closed    all is committed
//
// Invariants:
//  - Files pass from one state to the next inside collective calls, on all ranks in the same order.
//  - Dumps have numbers of the Writer, not of the file: a file's ledger begins where the one before
//    ends. One executor, budget, pool and observer serve all files.
#pragma once

#include <deque>
#include <optional>

#include "base/series_name.hpp"
#include "store/shared_file.hpp"
#include "writer/tree.hpp"

namespace caesura::writer {

/// A file that is the Writer's own.
struct OwnFile {
    std::unique_ptr<store::SharedFile> file = {};
    std::unique_ptr<Tree> tree = {};
    std::unique_ptr<ledger::Ledger> ledger = {};
    std::uint32_t number = 0;  ///< which of the Writer's files it is
    bool is_made = false;
    bool is_trimmed = false;  ///< the commit that gives back what is reserved has been built
    /// Rank 0, if dumps are durable: its name is not known to be on the disk.
    bool is_unnamed = false;
};

struct Series {
    std::optional<base::SeriesName> name = {};  ///< none: one file
    std::uint64_t stripe_bytes = 0;
    /// Rank 0: a file that is done, and its lock, so that between two files no other run takes the
    /// series up.
    std::shared_ptr<base::File> held = {};
    std::deque<OwnFile> pending = {};  ///< oldest first
    /// Of files that are closed.
    std::uint64_t reserved_bytes = 0, spare_bytes = 0;
    bool said_full = false;
};

}  // namespace caesura::writer
