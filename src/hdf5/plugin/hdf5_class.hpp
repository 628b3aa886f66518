// Caesura's codec as a filter class of HDF5's.
#pragma once

#include <hdf5.h>

namespace caesura::hdf5 {

/// What H5Zregister takes, and what the plugin gives.
const H5Z_class2_t& hdf5_class();

}  // namespace caesura::hdf5
