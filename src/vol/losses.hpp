// Files that are given up. Wherever that happens it comes through here, once, to the closing line
// and the report.
//
// A captured file is watched from before it is made or opened until all of it is committed and
// nobody uses it, or until it is given up: so nothing is said twice, and what is watched when the
// process is ended from outside is what is given up then.
//
// Invariants:
//  - Any thread, behind a lock: the one that ends the process on SIGTERM (on_term.hpp) comes while
//    the application's is anywhere. No call of MPI or HDF5.
//  - What all ranks of a file know one of them says: rank 0 of the job if it is one of them, whose
//    closing line it is, else the file's own first. What a rank knows alone it says itself.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "vol/closing_line.hpp"

namespace caesura::vol {

class CapturedFile;

namespace losses {

/// On this rank, of blocks.
struct Uncommitted {
    std::uint64_t dumps = 0, raw_bytes = 0;
};

struct Watched {
    std::shared_ptr<const Config> config;
    std::string name;
    bool says = true;  ///< what all its ranks know
};
void watch(const CapturedFile* file, Watched watched);
/// How far one that has been closed has come.
enum class Progress : std::uint8_t {
    begun,
    written,  ///< all its blocks of this rank lie in it
    complete,
};
/// It has been closed, and its lanes go on.
/// @param progress  asked under the lock, by any thread, until the file is open again, forgotten or
///                  given up.
void set_pending(const CapturedFile* file, const Uncommitted& left,
                 std::function<Progress()> progress);
void set_open(const CapturedFile* file);
/// All of it is committed, or nobody watches it.
void forget(const CapturedFile* file);
/// Some of it will not be committed. Not of a file that is not watched.
/// @param mine   what its Writer counted.
/// @param alone  no other rank knows it.
void give_up(const CapturedFile* file, GivenUp how, const Status& why, const Uncommitted& left,
             const WriterReport& mine, bool alone = false);
/// The process ends now, whatever the application's thread is at. A thread that opens, closes or
/// completes a file after it waits there for the end: nobody would tell of that file. Once only.
/// @param event  what ends it: "SIGTERM".
void give_up_all(const std::string& event);

}  // namespace losses
}  // namespace caesura::vol
