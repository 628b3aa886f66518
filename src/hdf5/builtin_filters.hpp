// Filters that are built into HDF5, without HDF5: deflate, shuffle, fletcher32. So chunks that have
// them are made and decoded side by side, as any others. (nbit, scale-offset and szip are
// HDF5's alone.)
#pragma once

#include <span>

#include "hdf5/hdf5_filter_plugin.hpp"

namespace caesura::hdf5 {

constexpr unsigned k_deflate_id = 1, k_shuffle_id = 2, k_fletcher32_id = 3;

/// Is it one of the three?
bool is_builtin(unsigned filter_id);

/// The buffer becomes what it was before the filter. false: it cannot have been made by it, or its
/// Fletcher checksum is wrong. Throws std::bad_alloc.
/// @param most_bytes  what inflating may make of it.
bool decode_builtin(unsigned filter_id, std::span<const unsigned> cd_values, std::size_t most_bytes,
                    FilterBuffer& buffer);

/// The other way. false: the filter makes nothing of it (deflate that needs more than `most_bytes`,
/// parameters that are none), and the buffer is as it was. Throws std::bad_alloc.
bool encode_builtin(unsigned filter_id, std::span<const unsigned> cd_values, std::size_t most_bytes,
                    FilterBuffer& buffer);

}  // namespace caesura::hdf5
