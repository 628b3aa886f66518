// Checkpoints of a simulation on a GPU: made one after the other, restored in any order.
//
//     auto checkpointer = Checkpointer::create(device, expected);
//     for (n ...) { step(); (*checkpointer)->checkpoint(n, state); }          // forward
//     for (n backwards ...) { (*checkpointer)->restore(n, state); adjoint(); }
//
// Checkpoints go to the host as HorizonPlanner says, raw, compressed, or several together,
// losslessly or within an absolute bound, and stay in its memory. restore() brings back what holds
// the checkpoint; while the application uses it, what holds the next one in the order that restores
// seem to have (backwards, say) is on its way.
//
// Invariants:
//  - What Caesura has of the device's memory is at most cache_bytes, at every moment.
//  - A restored checkpoint has the bytes of the one that was made; with a bound each finite value
//    lies within it, and one that was sent raw has its bytes. Compressed ones carry a checksum.
#pragma once

#include "caesura/device.hpp"
#include "caesura/horizon.hpp"

namespace caesura {

/// What a Checkpointer has done. Seconds of the device's clock.
struct CheckpointerReport {
    std::string word;              ///< U, C, A, X for each checkpoint (caesura/together.hpp)
    double checkpoint_s = 0.0;     ///< the application stood still in checkpoint() and flush()
    double restore_s = 0.0;        ///< in restore()
    std::uint64_t raw_bytes = 0;   ///< checkpoints made
    std::uint64_t host_bytes = 0;  ///< what they take at the host
    std::uint64_t restores = 0, prefetched = 0;  ///< of them found in the device, or on the way
    std::uint64_t peak_cache_bytes = 0;
};

struct CheckpointerOptions {
    /// What a checkpoint is. Without a shape it is bytes, of values as large as dtype's, lossless.
    device::Content content;
};

/// Calls: one thread at a time.
class Checkpointer {
  public:
    /// @param device    must outlive it.
    /// @param expected  as HorizonPlanner wants it: the machine and, where known, another run.
    /// @return  Errors: invalid_argument (numbers that cannot be; header_bytes less than a table of
    ///          as many checkpoints as fit the cache takes; a shape of other bytes than a
    ///          checkpoint has), unsupported (a bound that is neither lossless nor absolute).
    static Result<std::unique_ptr<Checkpointer>> create(device::Device& device,
                                                        plan::CheckpointProfile expected,
                                                        const CheckpointerOptions& options = {});
    virtual ~Checkpointer() = default;

    /// Make one. Waits while the cache is full.
    /// @param id    not one that was made before.
    /// @param data  checkpoint_bytes of the device; the caller's again on return.
    /// Errors: invalid_argument (such an id exists: nothing has happened); those of the device,
    /// after which no more can be made but what is at the host can be restored.
    virtual Status checkpoint(std::uint64_t id, const std::byte* data) = 0;
    /// Everything made so far reaches the host. Checkpoints may follow.
    virtual Status flush() = 0;
    /// Bring one back, as often as wanted. The first one after a checkpoint() flushes.
    /// @param data  checkpoint_bytes of the device, filled on return.
    /// Errors: invalid_argument (no such checkpoint), corrupt (its checksum is wrong), those of the
    /// device and of flush().
    virtual Status restore(std::uint64_t id, std::byte* data) = 0;

    virtual CheckpointerReport report() const = 0;
    /// This run, to be given to the next one of the ensemble (plan::to_json keeps it).
    virtual plan::CheckpointProfile recorded() const = 0;
};

}  // namespace caesura
