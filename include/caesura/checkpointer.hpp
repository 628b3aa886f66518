// Checkpoints of a simulation on a GPU: made one after the other, restored in any order.
//
//     auto checkpointer = Checkpointer::create(device, expected);
//     for (n ...) { step(); (*checkpointer)->checkpoint(n, state); }          // forward
//     for (n backwards ...) { (*checkpointer)->restore(n, state); adjoint(); }
//
// Checkpoints go to the host as HorizonPlanner says, raw, compressed, or several together,
// losslessly or within an absolute bound, and stay in its memory; those for which a budget has no
// room go to a file in the background (caesura/checkpoint_file.hpp), from which a later process
// restores them too. restore() brings back what holds the checkpoint; while the application uses
// it, what holds the next one in the order that restores seem to have (backwards, say) is on its
// way.
//
// Invariants:
//  - What Caesura asks for of the device's memory is at most cache_bytes, at every moment. What the
//    device reserves beyond that is its own, and so are the bytes that nvCOMP wants for
//    decompressing (caesura/device.hpp).
//  - A restored checkpoint has the bytes of the one that was made; with a bound each finite value
//    lies within it, and one that was sent raw has its bytes. Compressed ones carry a checksum.
#pragma once

#include <functional>
#include <limits>

#include "caesura/device.hpp"
#include "caesura/plan.hpp"

#pragma GCC visibility push(default)

namespace caesura {

/// Where checkpoints go for which the host has no room. CheckpointFile
/// (caesura/checkpoint_file.hpp) is one, in an HDF5 file; where there is no HDF5, somebody may have
/// another.
///
/// Invariants:
///  - Parcels are written in the order in which they were given a place.
///  - What has been written can be read by this process; what has been committed, or was written
///    whole, outlives it.
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

/// What a Checkpointer has done. Seconds of the device's clock.
struct CheckpointerReport {
    std::string word;              ///< U, C, A, X for each checkpoint (docs/how/checkpoints.md)
    double checkpoint_s = 0.0;     ///< the application stood still in checkpoint() and flush()
    double restore_s = 0.0;        ///< in restore()
    std::uint64_t raw_bytes = 0;   ///< checkpoints made
    std::uint64_t link_bytes = 0;  ///< what they came to on the link, and take at the host
    std::uint64_t restores = 0, prefetched = 0;  ///< of them found in the device, or on the way
    std::uint64_t peak_cache_bytes = 0;
    // Of the host's memory and the store.
    std::uint64_t peak_host_bytes = 0;        ///< after a call; with what was on the link
    std::uint64_t written_bytes = 0;          ///< to the store
    std::uint64_t reads = 0, read_ahead = 0;  ///< from it; before they were asked for
    double store_wait_s = 0.0;  ///< of real time, in checkpoint(), restore() and save()
    /// Empty, or why the store could not write at the last attempt. Nothing is lost by it: the
    /// checkpoints are in memory, and the call that needs the room says the same.
    std::string trouble;
};

struct CheckpointerOptions {
    /// What a checkpoint is. Without a shape it is bytes, of values as large as dtype's, lossless.
    device::Content content;
    /// How many are going to be made; 0: nobody knows. It may be wrong: only plans become better or
    /// worse by it. Of another run in `expected` as many as it made are expected at least.
    std::uint64_t checkpoints = 0;
    /// Where those go for which the host has no room: a CheckpointFile. Null: all stay in memory.
    /// What is in it already can be restored, too.
    std::shared_ptr<CheckpointStore> store;
    /// Memory of the host for checkpoints, at least three times the cache: once for what is on the
    /// link, once for what waits to be written, once for what is read back.
    std::uint64_t host_bytes = std::numeric_limits<std::uint64_t>::max();
    /// Write everything as soon as it has arrived, not only what there is no room for, so that
    /// little is lost with the process.
    bool write_all = false;
    /// What was written is committed at most so often (of real time), in a call of this class: 1 to
    /// 2 ms of HDF5 on the caller's thread. What was written and not committed is found by
    /// CheckpointFile::open() as well, but not by stock readers.
    double commit_every_s = 1.0;
};

/// Calls: one thread at a time.
class Checkpointer {
  public:
    /// @param device    must outlive it.
    /// @param expected  as HorizonPlanner wants it: the machine and, where known, another run.
    ///                  header_bytes 0: what the device needs.
    /// @return  Errors: invalid_argument (numbers that cannot be; a cache in which one of nvCOMP's
    ///          coders can compress nothing; header_bytes less than what the
    ///          device takes besides as many checkpoints as fit the cache; a shape of other bytes
    ///          than a checkpoint has; host_bytes too small, or limited without a store; a store of
    ///          other checkpoints), unsupported (a bound that is neither lossless nor absolute; any
    ///          bound, or a store, on a device with one of nvCOMP's coders).
    static Result<std::unique_ptr<Checkpointer>> create(device::Device& device,
                                                        plan::CheckpointProfile expected,
                                                        const CheckpointerOptions& options = {});
    /// What the store is writing is finished, and committed; errors of that are not told: save()
    /// tells them. What was not to be written is lost.
    virtual ~Checkpointer() = default;

    /// Make one. Waits while the cache is full, and while the host's memory is.
    /// @param id    not one that was made before, or is in the store.
    /// @param data  checkpoint_bytes of the device; the caller's again on return.
    /// Errors: invalid_argument (such an id exists), those of the store (no_space: a full disk):
    /// nothing has happened, and it may be called again. Those of the device: no more can be made,
    /// but what is at the host can be restored.
    virtual Status checkpoint(std::uint64_t id, const std::byte* data) = 0;
    /// Everything made so far reaches the host. Checkpoints may follow.
    virtual Status flush() = 0;
    /// Everything made so far is in the store, and committed: it outlives the process. Memory keeps
    /// what it had. Errors: invalid_argument (no store), those of flush() and of the store; nothing
    /// is lost, and it may be called again.
    virtual Status save() = 0;
    /// Bring one back, as often as wanted. The first one after a checkpoint() flushes.
    /// @param data  checkpoint_bytes of the device, filled on return.
    /// Errors: invalid_argument (no such checkpoint), corrupt (its checksum is wrong), those of the
    /// device, of the store and of flush().
    virtual Status restore(std::uint64_t id, std::byte* data) = 0;
    /// All that can be restored, in the order in which they were made, those of the store first.
    virtual std::vector<std::uint64_t> ids() const = 0;

    virtual CheckpointerReport report() const = 0;
    /// This run, to be given to the next one of the ensemble (plan::to_json keeps it).
    virtual plan::CheckpointProfile recorded() const = 0;
};

}  // namespace caesura

#pragma GCC visibility pop
