// What became of the application's files and datasets, for the end-of-run report.
//
// Invariants:
//  - One a process, written when the library closes, or when SIGTERM ends the process
//    (on_term.hpp), and before that now and then when a file is complete; never to the standard
//    output. Rank by rank: "%r" in its path becomes the rank, without it rank
//    0 writes.
//  - Behind a lock, under which nothing is waited for but the writing of the report itself. Calls
//    that do not say "any thread" are the application's thread's.
#pragma once

#include <memory>
#include <string>

#include "vol/closing_line.hpp"

namespace caesura::vol {

/// This process's rank in the job; asked for while MPI lives, remembered afterwards. Without MPI
/// the launcher's.
int world_rank();
/// As it was asked for last. Any thread.
int known_world_rank();
/// `captured` files are ours; the others were handed to the native connector, and `why` says why.
void report_file(const std::shared_ptr<const Config>& config, const std::string& path,
                 bool captured, const std::string& why);
/// What became of a dataset that was made in a captured file, e.g. "stored as it is: int32".
void report_dataset(const std::shared_ptr<const Config>& config, const std::string& file,
                    const std::string& path, bool blocks, const std::string& what);
/// A bound that is said of no dataset by name does not hold for this one, which report_dataset()
/// has been told of; for report and closing line.
void report_kept_exact(const std::shared_ptr<const Config>& config, const std::string& file,
                       const std::string& path, const std::string& why);
/// Few values stretch this dataset's range, so that a relative bound leaves the others fewer than
/// 8 bits; for report and closing line. @param why  for people: OpenWriter::stretched.
void report_stretched(const std::shared_ptr<const Config>& config, const std::string& file,
                      const std::string& path, const std::string& why);
/// A captured file whose blocks have been written.
struct EndedFile {
    const std::shared_ptr<const Config>& config;
    const std::string& path;
    Communicator& communicator;
};
/// What its Writer counted, over all ranks, with what the calls took of the application on the
/// slowest; for report and closing line. Collective.
void report_blocks(const EndedFile& file, const WriterReport& mine, bool was_pending);
/// A captured file that is given up, as this rank knows it.
struct GivenUpFile {
    const std::shared_ptr<const Config>& config;
    const std::string& path;
    GivenUp how = GivenUp::lost;
    std::string why;  ///< names the file
    /// On this rank, of blocks: in no commit. @see WriterReport::lost_dumps
    std::uint64_t dumps = 0, raw_bytes = 0;
    bool is_said = true;  ///< by this rank's closing line
};
/// Once a file (losses.hpp); for report and closing line. Any thread. @param mine  what its Writer
/// counted, as far as it is known.
void report_given_up(const GivenUpFile& file, const WriterReport& mine);
/// Write all reports that configurations ask for. Any thread. Errors: io, naming the path.
Status write_reports();

}  // namespace caesura::vol
