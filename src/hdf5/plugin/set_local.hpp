// What HDF5 asks a filter when a dataset is created: settle your parameters for its type and chunk.
#pragma once

#include <H5Ipublic.h>

namespace caesura::hdf5 {

/// Replaces the cd_values of our filter in the creation list by their full form.
/// @param return_address  of the HDF5 that called, which is the one to ask.
/// @return 0; or -1, with the reason on HDF5's error stack: cd_values that cannot be, or a lossy
///         bound for values that another filter has changed before they reach ours. Where no HDF5
///         is to be found the values stay as they are: 0.
herr_t set_local(hid_t creation_list, hid_t type, const void* return_address);

}  // namespace caesura::hdf5
