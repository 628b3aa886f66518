// The choice by name, of all modes.

#include <stdexcept>

#include "output.hpp"

namespace cosmology {

std::unique_ptr<Output> make_output(const Options& options, const Slab& slab) {
    if (options.mode == "compute") return make_no_output();
    if (options.mode == "sync") return make_hdf5_output(options, slab, false);
    if (options.mode == "filter") return make_hdf5_output(options, slab, true);
    if (options.mode == "async") return make_caesura_output(options, slab, true);
    if (options.mode == "caesura") return make_caesura_output(options, slab, false);
    throw std::invalid_argument("there is no mode " + options.mode);
}

}  // namespace cosmology
