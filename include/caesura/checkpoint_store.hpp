// Where checkpoints go for which the host has no room. CheckpointFile (caesura/checkpoint_file.hpp)
// is one, in an HDF5 file; where there is no HDF5, somebody may have another.
//
// Invariants:
//  - Parcels are written in the order in which they were given a place.
//  - What has been written can be read by this process; what has been committed, or was written
//    whole, outlives it.
#pragma once

#include <functional>

#include "caesura/device.hpp"

namespace caesura {

class CheckpointStore {
  public:
    /// Checkpoints that left the device together, in order: several, or one.
    struct Parcel {
        std::span<const std::uint64_t> ids;
        bool compressed = false;  ///< else one checkpoint as it is
        std::span<const std::byte> bytes;
    };
    /// A checkpoint that was there when the store was opened: a parcel by itself.
    struct Kept {
        std::uint64_t id = 0;
        bool compressed = false;
        std::uint64_t bytes = 0;  ///< of the parcel
    };
    /// Waits for the disk, calls no HDF5. Another attempt may follow one that failed.
    using Work = std::function<Status()>;

    virtual ~CheckpointStore() = default;
    /// What its checkpoints are. Once, before the calls below. Errors: invalid_argument (a shape or
    /// size that the store cannot have, or that those it has do not have).
    virtual Status begin(std::uint64_t checkpoint_bytes, const device::Content& content) = 0;
    /// In the order in which they were made.
    virtual std::vector<Kept> kept() const = 0;

    /// Place parcels. @return what writes them; their bytes must stay until it has succeeded. Only
    /// then, or when it is given up for ever, may place() be called again.
    /// Calls: place() and commit() from one thread; the work from any, one at a time.
    virtual Result<Work> place(std::span<const Parcel> parcels) = 0;
    /// Make what has been written part of the file, for others to see. @return what does it, empty
    /// if there is nothing to do. Until it has succeeded commit() returns the same again.
    virtual Result<Work> commit() = 0;
    /// A parcel that was written, or one of kept(), as it was. Any thread.
    /// Errors: corrupt (damaged, naming the checkpoint), io, invalid_argument (not written).
    virtual Status read(std::span<const std::uint64_t> ids, bool compressed,
                        std::span<std::byte> bytes) = 0;
    /// read() of these follows soon: a hint, so that the disk has begun by then. Any thread.
    virtual void will_read(std::span<const std::uint64_t>) {}
};

}  // namespace caesura
