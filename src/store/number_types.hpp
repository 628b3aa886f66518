// The numbers that we store, as HDF5 has them.
#pragma once

#include <hdf5.h>

#include <optional>

#include "caesura/base.hpp"
#include "store/hdf5_handle.hpp"

namespace caesura::store {

/// In this machine's memory.
Handle native_type(DType dtype);
/// In our files: little-endian.
Handle file_type(DType dtype);
/// What a file's type is, in either byte order; nullopt: none of ours. Of enumerations only
/// that of FALSE and TRUE is. Complex numbers are compounds here (compound_type.hpp).
std::optional<DType> number_of(hid_t type);
/// Is it native_type() of these numbers?
bool is_native(hid_t type, DType dtype);

}  // namespace caesura::store
