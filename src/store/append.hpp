// A file of dumps that a new run goes on with: recovered, and without the dumps that are not wanted
// any more.
//
// Invariants:
//  - Dumps leave the tree in one commit (commit.cpp), after recovery and before anything else is
//    written: a run that dies in here leaves the file with all of them, or with none.
//  - What they took of the file stays unused. Their numbers are never given again.
//  - Nobody else has the file meanwhile (the exclusive lock).
#pragma once

#include "store/recover.hpp"

namespace caesura::store {

struct AppendRequest {
    /// The last iteration that is kept, in the order of dumps; unset: the last one there is.
    std::optional<std::uint64_t> after;
    std::string layout = {};  ///< as WriterOptions has it; empty: the file's
    /// How many dumps each file of the series gets that this one is of; unset: of none.
    std::optional<std::uint64_t> dumps_per_file = {};
    bool durable = true;  ///< of the commit that drops; recovery always is
};

struct AppendedTo {
    SharedFile file;  ///< with the shared lock
    RecoverReport recovered;
    std::vector<std::uint64_t> kept;     ///< iterations, in the order of their dumps
    std::vector<std::uint64_t> dropped;  ///< the same
    std::uint64_t dropped_bytes = 0;     ///< of their blocks
    std::string last_path;               ///< the group of the last dump that is kept
    std::vector<DatasetSpec> last;       ///< what is in it
    std::string layout;                  ///< the file's, or, before its first dump, the request's
    std::vector<Attribute> root;         ///< attributes of its first dump; empty: it has none
    std::uint64_t next_dump = 0;         ///< no number of a dump at or above it was ever given
    std::uint64_t file_end = 0;          ///< nothing in use lies at or beyond it
};

/// On one rank, before the others open the file. The lock that recovery held becomes the shared
/// one. Errors: io (not there, not allowed, in use by another process), corrupt (not of Caesura;
/// damaged), unsupported (an application's tree, checkpoints), invalid_argument (an iteration that
/// is not there; the nearest are named; another layout; one file of a series for the series, or the
/// other way round), no_space. Recovery apart, nothing is
/// changed then.
Result<AppendedTo> open_to_append(base::FileSystem& file_system, const std::string& path,
                                  const AppendRequest& request);

/// invalid_argument, naming the nearest of the iterations that are there.
Status not_there(const std::string& path, std::vector<std::uint64_t> iterations,
                 std::uint64_t wanted);

}  // namespace caesura::store
