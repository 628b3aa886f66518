// Values in an application's memory, of any type and selection, and the same values dense.
#pragma once

#include <hdf5.h>

#include "base/buffer.hpp"
#include "vol/selection.hpp"

namespace caesura::vol {

/// Values in an application's memory.
struct MemoryValues {
    hid_t type, space;
    const Selection& selected;  ///< of `space`
    hid_t transfer;
    /// Bytes to have room for while they are brought to another type, or from it.
    std::size_t bytes_beside(hid_t other) const {
        return selected.count * std::max(H5Tget_size(type), H5Tget_size(other));
    }
};

/// Bring values into the order of transfer, converted to `type`.
/// @param to  room for bytes_beside(type), of which the values are the first.
/// Errors: no_space, internal (HDF5 cannot convert).
Status gather(base::BufferPool& pool, const void* memory, const MemoryValues& values, hid_t type,
              std::byte* to);

/// The other way round. `from` of `type` in the order of transfer; left undefined.
Status scatter(base::BufferPool& pool, std::span<std::byte> from, hid_t type, void* memory,
               const MemoryValues& values);

/// Where values of `type` lie in memory, if the application has them just so: of that type, dense,
/// in the order of transfer. Else null.
std::byte* dense_in_memory(void* memory, const MemoryValues& values, hid_t type);

}  // namespace caesura::vol
