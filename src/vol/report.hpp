// What became of the application's files and datasets, for the end-of-run report.
//
// Invariant: one a process, written when the library closes and whenever a captured file does;
// never to the standard output. Rank by rank: "%r" in its path becomes the rank, without it rank 0
// writes.
#pragma once

#include <memory>
#include <string>

#include "vol/config.hpp"

namespace caesura::vol {

/// This process's rank in the job; asked for while MPI lives, remembered afterwards.
int world_rank();
/// `captured` files are ours; the others were handed to the native connector, and `why` says why.
void report_file(const std::shared_ptr<const Config>& config, const std::string& path,
                 bool captured, const std::string& why);
/// What became of a dataset that was made in a captured file, e.g. "stored as it is: int32".
void report_dataset(const std::shared_ptr<const Config>& config, const std::string& file,
                    const std::string& path, bool blocks, const std::string& what);
/// A captured file whose blocks have been written, or were not for an error.
struct EndedFile {
    const std::shared_ptr<const Config>& config;
    const std::string& path;
    Communicator& communicator;
};
/// What its Writer counted, over all ranks, with what the calls took of the application on the
/// slowest. Collective if `status` is ok, which is the same on all ranks.
void report_blocks(const EndedFile& file, const WriterReport& mine, bool was_pending,
                   const Status& status);
/// Write all reports that configurations ask for. Errors: io, naming the path.
Status write_reports();

}  // namespace caesura::vol
