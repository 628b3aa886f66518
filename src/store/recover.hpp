// Recovery and listing on any file system, and the file to go on with.
#pragma once

#include <functional>
#include <map>

#include "store/region_format.hpp"

namespace caesura::store {

/// As recover(path) of caesura/store.hpp.
Result<RecoverReport> recover(base::FileSystem& file_system, const std::string& path,
                              bool dry_run = false);
/// Make the last commit of a file that its application has closed, as recover() does, or change
/// nothing. Errors: cancelled (not all of it lies in the file), io (somebody has it open).
Status finish_if_whole(base::FileSystem& file_system, const std::string& path);
/// The same by who has it open. Its lock stays as it is, and blocks are not read: who wrote them
/// has said that they lie there. A commit that was cut off is finished.
/// @param durable  wait for the disk.
/// Errors: cancelled (not all of it lies in the file), io; it may be tried again.
Status complete_closed(const SharedFile& file, bool durable);
/// Whether a file with these attributes of its root group is wanted.
using AcceptRoot = std::function<Status(const std::vector<Attribute>& root)>;
/// The same, and the file is this process's to go on with: the lock that recovery held is kept, as
/// the shared one of a SharedFile, so that of two processes that try this one is refused.
/// @param accept  asked under the lock, before anything is changed, about what is committed, or
///                where nothing is, about each dump that was begun. Errors: also its own.
Result<SharedFile> recover_and_open(base::FileSystem& file_system, const std::string& path,
                                    const AcceptRoot& accept);

/// What lies in a file beside HDF5's tree, as its regions say.
struct Begun {
    struct Dump {
        std::uint64_t iteration = 0;
        bool committed = false;
    };
    std::map<std::uint64_t, Dump> dumps;  ///< by number; those whose manifest is there
    bool of_application = false;          ///< dumps are part of a tree that an application makes
    std::vector<Attribute> root;          ///< of the first manifest
    bool has_tree = false;                ///< something is committed
    CommitRecord record;                  ///< of what is
};
struct Recovered {
    SharedFile file;  ///< with the exclusive lock, until lock(false)
    RecoverReport report;
    Begun begun;  ///< before it was recovered
};
/// As recover_and_open(), and what was found. @param accept  asked before anything is changed.
Result<Recovered> recover_and_keep(base::FileSystem& file_system, const std::string& path,
                                   const std::function<Status(const Begun&)>& accept);

/// As read_info(path) of caesura/store.hpp.
Result<FileInfo> read_info(base::FileSystem& file_system, const std::string& path);
/// The same of a file that is open already, without asking for a lock.
Result<FileInfo> read_info(base::File& file, const std::string& path);

}  // namespace caesura::store
