// The connector's own part of a file access list: what stands behind its name in
// HDF5_VOL_CONNECTOR="caesura config=run.toml".
#pragma once

#include <hdf5.h>

#include <memory>
#include <string>

#include "vol/config.hpp"
#include "vol/errors.hpp"

namespace caesura::vol {

/// Below is the native connector, always.
struct Info {
    std::string text;  ///< as it was given; "config=PATH", or nothing: the built-in configuration
};

/// What `info` asks for. Errors: invalid_argument, naming what it is not; those of load_config.
Result<std::shared_ptr<const Config>> config_of(const Info& info);

/// What a file access list says to us; the default if nothing.
Result<Info> info_of(hid_t access);

}  // namespace caesura::vol
