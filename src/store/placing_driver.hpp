// An HDF5 virtual file driver that keeps all metadata writes in memory and puts chunks where they
// already lie. With it H5Dwrite_chunk records a chunk's address without moving a byte.
//
// Invariants:
//  - The file itself is only ever read. Everything written lies in PlacingState::overlay.
//  - While a placement is armed, a raw allocation or write that is not exactly it is an error: the
//    dummy buffer given to H5Dwrite_chunk is never looked at.
//  - Metadata is allocated at or beyond `floor`, where no region is.
//  - The library frees nothing but the tail of what it allocated through this state.
#pragma once

#include "base/file.hpp"
#include "store/hdf5_handle.hpp"
#include "store/overlay.hpp"

namespace caesura::store {

struct Placement {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// One file as the driver sees it. Outlives the HDF5 file that is opened on it.
struct PlacingState {
    base::File* file = nullptr;
    std::uint64_t file_bytes = 0;  ///< length when opened
    bool creating = false;         ///< no superblock yet: the library is to make one
    std::uint64_t floor = 0;       ///< metadata goes here or beyond
    std::uint64_t eoa = 0;
    Overlay overlay;
    Status error;  ///< the first error inside a callback

    std::optional<Placement> armed;  ///< the next chunk written lies here
    bool allocated = false, dropped = false;

    bool watching = false;  ///< raw reads are noted in `seen` and not done
    std::optional<Placement> seen;

    /// Read the file with the overlay over it; zeros beyond its end.
    Status read(std::uint64_t address, std::span<std::byte> bytes) const;
};

/// An access property list that opens files through the driver, on `state`.
/// Errors: internal (HDF5 refused).
Result<Handle> placing_access(PlacingState& state);

}  // namespace caesura::store
