// The files that the application has closed and whose blocks are still being compressed and
// written. A thread completes each as soon as they are (completer.hpp). The first of these that
// comes completes what the thread has not, and lets go of what this process has of the file:
//
//  - a collective H5Fcreate, H5Fopen, H5Fflush or H5Fclose through a congruent communicator (trap
//    5), if the lanes of all ranks are done with it by then; at a close also if otherwise too much
//    would be pending;
//  - an H5Fcreate, H5Fopen or H5Fdelete of the file itself by all its ranks; where one process
//    opens its file again for writing, and lanes are at work, it goes on (CapturedFile::go_on);
//  - if one process has it and its lanes are done: any of these calls of that process;
//  - MPI_Finalize, or the end of HDF5 (vol/shutdown.hpp).
//
// Invariants:
//  - A file comes in and goes out inside calls that are collective over exactly its ranks, or over
//    more than these: so all its ranks have it in their lists, and those of congruent files are in
//    the same order.
//  - What MPI and HDF5 have to do with it happens on the application's thread, in one of the calls
//    below (trap 6). MPI_THREAD_FUNNELED is enough.
//  - An error is told exactly once, by a call that the application can see fail on all ranks of the
//    file; if there is none any more, as HDF5 shows errors (show_error), when the run ends (trap
//    10).
#pragma once

#include <hdf5.h>

#include <memory>
#include <string>

#include "caesura/base.hpp"
#include "vol/file_identity.hpp"
#include "vol/ranks.hpp"

namespace caesura::vol {

class CapturedFile;
struct Config;

namespace pending_files {

/// Of raw data that may be pending on a rank.
std::uint64_t most_bytes(const Config& config);

/// Who makes a call together.
struct Callers {
    Communicator* communicator = nullptr;  ///< null: this process alone
    const Ranks& ranks;
};

/// The file has been closed; its lanes go on.
void add(std::shared_ptr<CapturedFile> file);
/// How many there are. Any thread.
std::size_t count();
/// Is this one of them?
bool holds(const FileIdentity& identity);
/// And does it belong to others beside these ranks too? They complete it without these.
bool holds_for_others(const FileIdentity& identity, const Ranks& callers);

/// CapturedFile::may_go_on() and take_back() of this file. Local.
bool may_go_on(const FileIdentity& identity, const std::string& name, hid_t access);
std::shared_ptr<CapturedFile> take_back(const FileIdentity& identity);

/// Before a file is created, opened or deleted. Collective over the callers.
/// Errors, on all callers: unsupported (the file is pending, and not all its ranks are here), and
/// that of a file that could not be completed: this one, or one of congruent ranks; or `mine`, of
/// the lowest caller that has one.
/// @param goes_on  the file itself is not to be completed.
Status before_open(const Callers& callers, const FileIdentity& identity, Status mine, bool goes_on);
/// Before a file is flushed or closed. Collective over the callers.
/// @param bytes  that the caller's file would add to what is pending here.
/// Errors: those of the communicator; those of files are kept for before_open().
Status advance(const Callers& callers, std::uint64_t bytes);

/// Complete those that this process has for itself.
void complete_own();
/// Complete all of them. Collective over the ranks of each.
void complete_all();
/// Nobody will wait for anybody any more: complete what one process has, give the others up, and
/// say so.
void give_up(const std::string& why);
/// Show the errors that nobody has asked for.
void show_errors();

}  // namespace pending_files
}  // namespace caesura::vol
