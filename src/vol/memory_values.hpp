// Values in an application's memory, of any type and selection, and the same values dense.
#pragma once

#include <hdf5.h>

#include "base/buffer.hpp"

namespace caesura::vol {

/// Values in the order of transfer, converted to `type`.
/// @param space  of the memory; its selection has `count` values.
/// Errors: no_space, internal (HDF5 cannot convert).
Result<base::Buffer> gather(base::BufferPool& pool, const void* memory, hid_t memory_type,
                            hid_t space, std::uint64_t count, hid_t type, hid_t transfer);

/// The other way round. `values` of `type` in the order of transfer; left undefined.
Status scatter(base::BufferPool& pool, std::span<std::byte> values, std::uint64_t count, hid_t type,
               void* memory, hid_t memory_type, hid_t space, hid_t transfer);

}  // namespace caesura::vol
