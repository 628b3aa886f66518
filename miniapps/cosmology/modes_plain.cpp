// The choice by name in cosmology_hdf5, the program that is linked without Caesura.

#include <stdexcept>

#include "output.hpp"

namespace cosmology {

std::unique_ptr<Output> make_output(const Options& options, const Slab& slab) {
    if (options.mode == "compute") return make_no_output();
    if (options.mode == "sync") return make_hdf5_output(options, slab, false);
    if (options.mode == "filter") return make_hdf5_output(options, slab, true);
    throw std::invalid_argument("this program is plain HDF5 and has no mode " + options.mode +
                                "; use compute, sync or filter, or the program cosmology");
}

Restored read_restart(const Options&, const Slab&) {
    throw std::invalid_argument("this program is plain HDF5 and has no --restart");
}

}  // namespace cosmology
