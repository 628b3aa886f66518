// Where HDF5 takes a file to end: the number in its superblock. A stock writer puts new objects
// there, and cuts the file off at its own end when it closes. A commit sets it to the end of all
// that is reserved by then. Where no lock keeps stock writers away it says more: a cover, so that
// they write and cut behind blocks that will be on their way before the next commit.
//
// Invariants:
//  - The file is never shorter than the number says, also after a loss of power: readers would
//    refuse it.
//  - Covers of a commit are known by their number, so that space under one is used like any other
//    and the end of the file comes back to what is in it.
#pragma once

#include "store/region_format.hpp"
#include "store/shared_file.hpp"
#include "store/superblock.hpp"

namespace caesura::store {

/// Room for as much as lies before `end`, and a MiB at least: a hole in the file.
std::uint64_t covered_end(std::uint64_t end);
/// Where the last commit of a file ends: the superblock's number if it is no cover.
std::uint64_t end_without_cover(const Superblock& superblock, const CommitRecord& record);
/// More has been reserved: raise the number to a cover of `end` if it is lower. A file without a
/// superblock has none. Any rank may write blocks meanwhile; nobody flushes a commit or marks the
/// file. It waits for the disk, seldom: covers double.
/// Errors: io, no_space, corrupt, unsupported (File::reach).
Status raise_stored_end(SharedFile& file, std::uint64_t end);

/// At the end of a run: the file ends where its last commit does, as HDF5 sees it, and is cut off
/// there, or at `reserved_end` if that is more. What stock writers have put behind a cover stays.
/// Errors: io, corrupt.
Status take_cover_off(base::File& file, const RunId& run, std::uint64_t reserved_end = 0);

}  // namespace caesura::store
