// Files as the store sees them, so that tests can record, tear and refuse every operation.
//
// Invariants:
//  - Offsets are absolute; there is no file position. Calls on one File may come from several
//    threads at once.
//  - A short write is an error (no_space for ENOSPC/EDQUOT, else io), never a partial success.
#pragma once

#include "caesura/base.hpp"

namespace caesura::base {

/// Are advisory locks used? As HDF5 knows it. best_effort: not where the file system has no locks;
/// with on, that is an error. yielding: as best_effort, and what others have locked is no reason to
/// stop, as where a file is opened through MPI-IO, for which HDF5 asks for no lock.
enum class FileLocking : std::uint8_t { off, on, best_effort, yielding };
inline constexpr FileLocking k_file_lockings[] = {FileLocking::off, FileLocking::on,
                                                  FileLocking::best_effort, FileLocking::yielding};

/// The one place that decides. The environment's HDF5_USE_FILE_LOCKING (FALSE or 0, TRUE or 1,
/// BEST_EFFORT; other values count as unset) goes before what was asked, as in HDF5.
/// @param asked  what H5Pset_file_locking says of a file; left out: HDF5's default.
FileLocking file_locking(FileLocking asked = FileLocking::best_effort);

class File {
  public:
    virtual ~File() = default;
    virtual Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// Several buffers, one after the other, as one write.
    virtual Status write_at(std::uint64_t offset,
                            std::span<const std::span<const std::byte>> buffers) = 0;
    /// The same, and the disk begins with it now and not when sync() asks for it: for much that is
    /// written at once and synced soon. Where that cannot be, it is write_at.
    virtual Status write_early(std::uint64_t offset,
                               std::span<const std::span<const std::byte>> buffers) {
        return write_at(offset, buffers);
    }
    /// Errors: insufficient_data if the file ends before offset + bytes.size().
    virtual Status read_at(std::uint64_t offset, std::span<std::byte> bytes) = 0;
    /// read_at() of this follows soon: a hint, which does not wait for the disk.
    virtual void will_read(std::uint64_t, std::uint64_t) {}
    /// Where the next byte lies, from `offset` on, that is part of no hole; the largest number if
    /// the rest of the file is a hole.
    virtual std::uint64_t next_data(std::uint64_t offset) { return offset; }
    /// fdatasync, and the file's size with it.
    virtual Status sync() = 0;
    virtual Status truncate(std::uint64_t bytes) = 0;
    /// Make the file so long, unless it is longer. No byte changes, and it takes one page of the
    /// disk. Errors: unsupported (this file system, or this File, cannot), no_space, io.
    virtual Status extend(std::uint64_t) { return {StatusCode::unsupported, "extend"}; }
    virtual Result<std::uint64_t> size() = 0;
    /// Advisory lock for the life of this File, or until unlock() (flock). Nothing is locked where
    /// locking is off. Errors: io (held by another; the file system knows no locks and
    /// FileLocking::on was asked for).
    ///
    /// Files of ours know each other besides, also where they yield to others: a shared lock leaves
    /// a mark, and an exclusive one is refused while another File has one. The mark is a lock of
    /// the open file on one byte beyond all data (fcntl). Where flock() is such a lock too, as on
    /// NFS, a reader's looks like a mark.
    virtual Status lock(bool exclusive) = 0;
    /// Give it up. Any thread.
    virtual void unlock() = 0;
    /// Points to the descriptor that the operating system gave this File. It is valid until the
    /// File is destroyed. A File of another process, such as a service, returns null.
    virtual const int* descriptor() const { return nullptr; }
};

class FileSystem {
  public:
    /// create: to read and write; made where it is not there, and nothing happens to one that is.
    enum class Mode { read, read_write, create };
    virtual ~FileSystem() = default;
    virtual Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) = 0;
    /// The same; the file asks file_locking(asked) at each lock(), where this one can be told.
    virtual Result<std::unique_ptr<File>> open_for(FileLocking, const std::string& path,
                                                   Mode mode) {
        return open(path, mode);
    }
    /// Wait until the name of a file that is there is on the disk: fsync of the directory it lies
    /// in. ok where the file system knows no such thing, or the directory may not be read.
    virtual Status sync_directory_of(const std::string& path) = 0;
    /// The name goes; who has the file open keeps it. Errors: io.
    virtual Status remove(const std::string& path);
    /// The operating system's. Its files ask file_locking(asked) at each lock().
    static FileSystem& posix(FileLocking asked = FileLocking::best_effort);
};

/// The file of a descriptor that is open for what it is used for. @param path  what errors call it.
std::unique_ptr<File> file_of_descriptor(int descriptor, std::string path,
                                         FileLocking asked = FileLocking::best_effort);

}  // namespace caesura::base
