// A standard HDF5 file as the place where checkpoints go for which the host has no room.
//
//     auto file = CheckpointFile::create("run.h5");         // a new run; empties an old file now
//     auto store = CheckpointFile::create_at_begin("run.h5");   // or when its options are accepted
//     auto file = CheckpointFile::open("run.h5");           // one that was killed, or goes on
//     options.store = *std::move(file);
//     auto checkpointer = Checkpointer::create(device, expected, options);
//
// Checkpoint 17 is the dataset /checkpoints/17, of the type and shape of CheckpointerOptions, in
// one chunk: as it is, or compressed by Caesura's filter, so that h5py, h5dump and any other reader
// of HDF5 see its values. The bytes are written around the HDF5 library, as a Writer's are
// (docs/how/file_format.md); what is written and what of it is committed is as there.
//
// Invariants:
//  - What was committed is not lost, whatever instant process or (if durable) machine dies at; nor
//    is a batch of checkpoints that was written whole: open() finds it.
//  - One process has the file open for writing at a time; readers may open it meanwhile. Locks of
//    the file system (flock) see to that: where it has none, it is the caller's to see to.
#pragma once

#include "caesura/checkpointer.hpp"

namespace caesura::base {
class FileSystem;
}  // namespace caesura::base

#pragma GCC visibility push(default)

namespace caesura {

struct CheckpointFileOptions {
    /// Wait for the disk: safe against the end of the machine too, not only of the process, and
    /// the name of a new file with it.
    bool durable = true;
    base::FileSystem* file_system = nullptr;  ///< nullptr: the operating system's
};

/// Calls: as CheckpointStore; create, open, commit and the destructor call HDF5 and are the
/// application's thread's.
class CheckpointFile : public CheckpointStore {
  public:
    /// Empties a file that is there. Errors: io, no_space (path and reason; another process writes
    /// it).
    static Result<std::shared_ptr<CheckpointFile>> create(
        const std::string& path, const CheckpointFileOptions& options = {});
    /// The same, but nothing happens to a file that is there before begin() has accepted what goes
    /// into it: a Checkpointer that is refused for its options leaves it as it was. Errors as those
    /// of create() are begin()'s.
    static std::shared_ptr<CheckpointStore> create_at_begin(
        const std::string& path, const CheckpointFileOptions& options = {});
    /// One that is there, to restore from and to go on with. Finishes first what a killed process
    /// has left. Errors: io (no such file; another process still writes it), corrupt (cut off,
    /// damaged), unsupported (no file of checkpoints). The file is as before then.
    static Result<std::shared_ptr<CheckpointFile>> open(const std::string& path,
                                                        const CheckpointFileOptions& options = {});

    /// Of the checkpoints in a file that was opened; 0 if there are none.
    virtual std::uint64_t checkpoint_bytes() const = 0;
    /// Type and shape of those, lossless; without a shape if there are none.
    virtual device::Content content() const = 0;
    /// Checkpoints that are committed, and that a stock reader sees.
    virtual std::uint64_t committed() const = 0;
};

}  // namespace caesura

#pragma GCC visibility pop
