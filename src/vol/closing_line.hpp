// The one line that rank 0 prints when HDF5 closes (decision D8): what became of the blocks of all
// captured files, what was lost if anything was, and rules that matched nothing. Not printed where
// no file had blocks, unless one was left to the native connector. With `closing_line = false`, and
// on other ranks, it is what was lost alone.
//
// Invariant: any thread; behind a lock, which nobody keeps while doing anything else.
#pragma once

#include <memory>

#include "vol/config.hpp"

namespace caesura::vol {

/// Of one file, over its ranks.
struct ClosedFile {
    std::uint64_t dumps = 0, raw_bytes = 0, stored_bytes = 0;
    double in_calls_s = 0.0;  ///< all calls since the file before; of the slowest rank
    /// Longest times from a hand-over.
    double to_written_s = 0.0, to_committed_s = 0.0;
    std::uint64_t taken_over_blocks = 0;
    double taken_over_s = 0.0;
    std::uint64_t lost_services = 0, regained_services = 0;
};

/// How a file is given up.
enum class GivenUp : std::uint8_t {
    lost,         ///< some of what was handed over is in no commit, and cannot come there any more
    for_recover,  ///< it was closed, and this rank's blocks lie in it: `caesura recover` commits it
    open          ///< it was open, and is as it was flushed last
};

/// Blocks of a file that was closed, or of one that is given up too.
void note_closed(const std::shared_ptr<const Config>& config, const ClosedFile& file);
/// A file that is given up, which note_closed() has been told of.
/// @param why  names the file, for people.
void note_given_up(GivenUp how, const std::string& why);
/// A file that the native connector has made, although the configuration does not say so.
/// @param why  names the file, for people.
void note_native(const std::shared_ptr<const Config>& config, const std::string& why);
/// A bound that is said of no dataset by name does not hold for this one. @param why  for people.
void note_kept_exact(const std::shared_ptr<const Config>& config, const std::string& path,
                     const std::string& why);
/// Such a bound holds for each part of this one's complex numbers.
void note_by_part(const std::shared_ptr<const Config>& config, const std::string& path);
/// A relative bound leaves most values of this one fewer than 8 bits.
void note_stretched(const std::shared_ptr<const Config>& config, const std::string& path);
/// A lost service was there again when a file was made.
void note_service_returned();
/// The line, and begin anew; empty if there is nothing to say.
std::string take_closing_line(int world_rank);
/// Print it.
void print_closing_line(int world_rank);

}  // namespace caesura::vol
