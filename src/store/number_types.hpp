// The numbers that we store, as HDF5 has them.
#pragma once

#include <hdf5.h>

#include <optional>

#include "caesura/base.hpp"

namespace caesura::store {

/// In this machine's memory.
hid_t native_type(DType dtype);
/// In our files: little-endian.
hid_t file_type(DType dtype);
/// What a file's type is, in either byte order; nullopt: none of ours (an enumeration is not).
std::optional<DType> number_of(hid_t type);

}  // namespace caesura::store
