// How a plugin is loaded so that its HDF5 calls reach the HDF5 this library uses.
#pragma once

#include <string>

#include "caesura/base.hpp"

namespace caesura::hdf5 {

/// dlopen a plugin for use with *our* HDF5. Never closed. See plugin_loader.cpp for the rule.
/// Errors: unsupported (the loader's own words).
Result<void*> load_plugin(const std::string& path);

/// dlopen a plugin just to ask what it is. Errors: unsupported.
Result<void*> peek_plugin(const std::string& path);

}  // namespace caesura::hdf5
