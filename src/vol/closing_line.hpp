// The one line that rank 0 prints when HDF5 closes (decision D8): what became of the blocks of all
// captured files, what was lost if anything was, and rules that matched nothing. Off with
// `closing_line = false`, and where no file had blocks.
//
// Invariant: application's thread only.
#pragma once

#include <memory>

#include "vol/config.hpp"

namespace caesura::vol {

/// Of one file, over its ranks.
struct ClosedFile {
    std::uint64_t dumps = 0, raw_bytes = 0, stored_bytes = 0;
    double in_calls_s = 0.0;  ///< of the slowest rank
    /// Longest times from a hand-over.
    double to_written_s = 0.0, to_committed_s = 0.0;
    std::uint64_t taken_over_blocks = 0;
    double taken_over_s = 0.0;
};

/// @param lost  empty: nothing; else what was, for people.
void note_closed(const std::shared_ptr<const Config>& config, const ClosedFile& file,
                 const std::string& lost);
/// The line, and begin anew; empty if there is nothing to say.
std::string take_closing_line();
/// Print it, if this is rank 0 of the job.
void print_closing_line(int world_rank);

}  // namespace caesura::vol
