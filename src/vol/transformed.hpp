// Data transforms of a transfer list (H5Pset_data_transform), for values that become blocks.
//
// The library applies a transform only where it moves data to or from a dataset. So the values take
// the way through one of their own, in a file in memory.
#pragma once

#include <hdf5.h>

#include <span>

#include "caesura/base.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura::vol {

bool has_transform(hid_t transfer);

/// The application's list without its transform, to be read with.
store::Handle without_transform(hid_t transfer);

/// As H5Dwrite would convert them. @param values  to be filled, `count` of `type`, dense.
/// Errors: internal (HDF5 refused, e.g. for want of memory).
Status transform_in(const void* memory, hid_t memory_type, hid_t space, std::uint64_t count,
                    hid_t type, hid_t transfer, std::span<std::byte> values);
/// As H5Dread would.
Status transform_out(std::span<const std::byte> values, std::uint64_t count, hid_t type,
                     void* memory, hid_t memory_type, hid_t space, hid_t transfer);

}  // namespace caesura::vol
