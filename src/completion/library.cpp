// The library itself. Its HDF5 is kept apart from everything that is meant for the application's:
//  - Names: the archive's functions are hidden, and the link binds them here (exports.map).
//  - Environment: HDF5_VOL_CONNECTOR would make it load the connector once more, HDF5_DRIVER and
//    HDF5_PLUGIN_PATH would lead it elsewhere. The linker sends each getenv() of this library to
//    the function below (--wrap).
//  - Plugins: none is loaded. A commit places compressed chunks and runs no filter.
//  - The end: HDF5 is not closed at exit, where the application's files may still be completed.
#include <hdf5.h>

#include <cstdlib>
#include <cstring>

#include "completion/entry.hpp"
#include "store/recover.hpp"

extern "C" char* __real_getenv(const char* name);
extern "C" char* __wrap_getenv(const char* name) {
    return std::strncmp(name, "HDF5_", 5) == 0 ? nullptr : __real_getenv(name);
}

namespace caesura::completion {
namespace {

Status complete(const store::SharedFile& file, bool durable) {
    static const bool there =
        H5dont_atexit() >= 0 && H5open() >= 0 && H5PLset_loading_state(0) >= 0;
    if (!there) return {StatusCode::unsupported, "the HDF5 that completes files does not start"};
    return store::complete_closed(file, durable);
}

}  // namespace
}  // namespace caesura::completion

extern "C" __attribute__((visibility("default"))) const caesura::completion::Entry*
caesura_completion_entry() {
    static constexpr caesura::completion::Entry k_entry{CAESURA_BUILD,
                                                        caesura::completion::complete};
    return &k_entry;
}
