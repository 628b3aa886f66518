// What the HDF5 that this library calls says of itself. A process may hold others.
#pragma once

#include <array>

namespace caesura::hdf5 {

/// Major, minor, release; zeros if HDF5 does not say.
std::array<unsigned, 3> library_version();

/// Does it find the filter, among its own and the plugins that HDF5_PLUGIN_PATH leads to?
bool filter_available(unsigned id);

}  // namespace caesura::hdf5
