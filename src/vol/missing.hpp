// Which values of a dataset mark a place without data: what the configuration says, and attributes
// that netCDF's conventions know.
#pragma once

#include <vector>

#include "vol/config.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {

/// What `_FillValue` and `missing_value` of a dataset say; nothing where they are no numbers.
/// Leaves HDF5's error stack as it is.
std::vector<FillValue> missing_said_of(const NativeObject& dataset);

}  // namespace caesura::vol
