// The connector's own part of a file access list: what stands behind its name in
// HDF5_VOL_CONNECTOR="caesura config=run.toml".
#pragma once

#include <hdf5.h>

#include <string>

#include "vol/errors.hpp"

namespace caesura::vol {

/// Below is the native connector, always.
struct Info {
    std::string config_path;  ///< empty: the built-in configuration
};

/// "config=PATH", or nothing but blanks. Errors: invalid_argument, naming what it is not.
Result<Info> parse_info(std::string_view text);

/// What a file access list says to us; the default if nothing.
Result<Info> info_of(hid_t access);

}  // namespace caesura::vol
