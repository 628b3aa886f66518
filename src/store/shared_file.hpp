// The file that every rank of a run has open.
#pragma once

#include "caesura/store.hpp"

namespace caesura::base {
class FileSystem;
}  // namespace caesura::base

namespace caesura::store {

/// 16 random bytes that every region, prefix record and journal of one file carries.
using RunId = std::array<std::byte, 16>;
RunId make_run_id();

/// The shared file, opened by every rank of a run. Holds flock(LOCK_SH) until destroyed, so that
/// readers open it and stock writers are refused.
class SharedFile {
  public:
    /// One that is not made yet: to be assigned. Until then nothing may be asked of it.
    SharedFile() = default;
    /// On one rank, before the others open it. Empties a file that is there; writes the reserved
    /// header with `run`. Of several at once one gets the file, and the others do it no harm.
    /// @param durable  wait until header and name are on the disk: the directory is synced, by this
    ///                 rank alone.
    /// Errors: io (another run writes it, or made it just now), no_space (path and reason), e.g. a
    /// directory that is not there.
    static Result<SharedFile> create(base::FileSystem& file_system, const std::string& path,
                                     const RunId& run, bool durable = true);
    /// On the other ranks, after a barrier. Errors: corrupt if the header is not `run`'s.
    static Result<SharedFile> open(base::FileSystem& file_system, const std::string& path,
                                   const RunId& run);
    /// The same with a file that the caller has opened to read and write.
    static Result<SharedFile> take(std::unique_ptr<base::File> file, const std::string& path,
                                   const RunId& run);
    /// The file that the caller has open, even if its path leads to another one by now. The caller
    /// locks it. Errors: io; unsupported, naming the path: no file of ours, or of a newer version.
    static Result<SharedFile> of_open(std::shared_ptr<base::File> file, const std::string& path);
    base::File& file() const { return *file_; }
    /// It stays open, and locked, as long as somebody has it.
    std::shared_ptr<base::File> keep() const { return file_; }
    const std::string& path() const { return path_; }
    const RunId& run() const { return run_; }

  private:
    friend struct SharedFileAccess;  // recover's way in, with the exclusive lock
    Status check_run() const;
    std::string path_;
    RunId run_{};
    std::shared_ptr<base::File> file_;
};

}  // namespace caesura::store
