#include "hdf5/library.hpp"

#include <hdf5.h>

namespace caesura::hdf5 {

std::array<unsigned, 3> library_version() {
    std::array<unsigned, 3> version{};
    if (H5get_libversion(&version[0], &version[1], &version[2]) < 0) version = {};
    return version;
}

bool filter_available(unsigned id) { return H5Zfilter_avail(static_cast<H5Z_filter_t>(id)) > 0; }

}  // namespace caesura::hdf5
