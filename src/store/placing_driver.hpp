// An HDF5 virtual file driver that keeps all metadata writes in memory and puts chunks where they
// already lie. With it H5Dwrite_chunk records a chunk's address without moving a byte.
//
// Invariants:
//  - The file itself is only ever read. Everything written lies in PlacingState::overlay.
//  - While a placement is armed, a raw allocation or write that is not exactly it is an error: the
//    dummy buffer given to H5Dwrite_chunk is never looked at.
//  - Metadata is allocated at or beyond `floor`, where no region is.
//  - The library frees nothing but the tail of what it allocated through this state; of a file that
//    stays open nothing at all, so that no address is ever used for two things.
#pragma once

#include <atomic>
#include <vector>

#include "base/file.hpp"
#include "store/hdf5_handle.hpp"
#include "store/overlay.hpp"

namespace caesura::store {

struct Placement {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Raw bytes that one process wrote through the library, on their way to the file. Made by
/// LiveImage; reads of the image see them here until they are written.
class RawBatch {
  public:
    explicit RawBatch(Overlay bytes) : bytes_(std::move(bytes)) {}
    /// Plain writes, ascending, not synced. Any thread; once. After an error it may be called
    /// again.
    Status write(base::File& file);
    /// Another process has written the same bytes.
    void mark_written() { written_.store(true, std::memory_order_release); }
    /// Memory held until the batch is destroyed.
    std::uint64_t memory_bytes() const { return bytes_.memory_bytes(); }
    const Overlay& bytes() const { return bytes_; }
    bool written() const { return written_.load(std::memory_order_acquire); }

  private:
    Overlay bytes_;
    std::atomic<bool> written_{false};
};

/// What lies between overlay and file of a file that stays open, newest first in this order.
struct LiveLayers {
    Overlay frozen;  ///< metadata of a commit that is not known to be in the file yet
    Overlay raw;     ///< raw data written through the library and not placed
    std::vector<std::shared_ptr<const RawBatch>> taken;  ///< handed out; oldest first
    Overlay fill;                                        ///< fill values, the same on all ranks
    /// What the library's raw writes are: the application's data, fill values of space that is new,
    /// or large values in a heap of attributes, which are part of the next commit.
    enum class Raw { data, fill, metadata } raw_is = Raw::data;
    std::uint64_t new_from = 0;       ///< fill values before it are data
    std::uint64_t virgin_begin = 0;   ///< nothing was ever written at or beyond
    std::uint64_t allocated_end = 0;  ///< of all that the library uses
    std::uint64_t flushes = 0;        ///< H5Fflush calls that have come to their end
    /// While armed: the library wrote here instead, as a chunk that keeps its size keeps its place.
    std::optional<std::uint64_t> kept;

    /// Let go what lies in the file.
    void forget_written();
    void read(std::uint64_t address, std::span<std::byte> bytes) const;
};

/// One file as the driver sees it. Outlives the HDF5 file that is opened on it.
struct PlacingState {
    base::File* file = nullptr;
    std::uint64_t file_bytes =
        0;                    ///< length when opened; of a file that stays open, when last seen
    bool creating = false;    ///< no superblock yet: the library is to make one
    std::uint64_t floor = 0;  ///< metadata goes here or beyond
    std::uint64_t eoa = 0;
    Overlay overlay;
    Status error;  ///< the first error inside a callback

    std::optional<Placement> armed;  ///< the next chunk written lies here
    bool allocated = false, dropped = false;

    bool watching = false;  ///< raw reads are noted in `seen` and not done
    std::optional<Placement> seen;

    std::unique_ptr<LiveLayers> live;      ///< of a file that stays open; else null
    std::vector<unsigned long*> features;  ///< what the library knows of each open file's driver

    /// From now on the library allocates all of a dataset when it makes one, or no longer does.
    void allocate_at_once(bool on);
    /// Read the file with the overlay (and what `live` has) over it; zeros beyond its end.
    Status read(std::uint64_t address, std::span<std::byte> bytes);

  private:
    Status ask_size();
    Status read_file(std::uint64_t address, std::span<std::byte> bytes);
};

/// Make an access property list open its files through the driver, on `state`, below the native
/// connector. Errors: internal (HDF5 refused).
Status set_placing_driver(hid_t fapl, PlacingState& state);

/// An access property list that opens files through the driver, on `state`.
/// Errors: internal (HDF5 refused).
Result<Handle> placing_access(PlacingState& state);

}  // namespace caesura::store
