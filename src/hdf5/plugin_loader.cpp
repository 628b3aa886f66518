// A filter plugin calls HDF5 (in its set_local callback, and to report errors), but by convention
// it is not linked to any HDF5. Which one does it get?
//
//  (a) A program linked to libhdf5: HDF5's symbols are in the process's global scope, so the
//      plugin finds them. Whether that libhdf5 is the serial or the MPI build makes no difference.
//      Plain dlopen is right.
//  (b) A Python module that brings its own libhdf5 (dlopened RTLD_LOCAL) beside h5py's: neither
//      HDF5 is in the global scope. The hdf5plugin wheel's plugins carry stand-ins for the HDF5
//      functions, which do nothing until `init_filter(path of a libhdf5)` was called, and
//      hdf5plugin calls that with h5py's HDF5. Calling it again with ours would redirect h5py's
//      plugins, and the other way round: the stand-ins' state is one per loaded file. So we load a
//      private copy of the file (an anonymous one: the dynamic linker tells files apart by device
//      and inode) and call its init_filter with ours. The application's copy stays untouched,
//      whichever is loaded first.
//      Where ours is an archive that shows no names, libcaesura_hdf5_names.so, which lies beside
//      this code, has them: names/names.c.
//  (c) Some other HDF5 is global while ours is not: as (b), with RTLD_DEEPBIND so that the copy's
//      stand-ins win over the foreign HDF5. DEEPBIND also binds malloc to libc's; where malloc was
//      replaced (sanitizers, jemalloc) a buffer would cross allocators, so that case is refused.
#include "hdf5/plugin_loader.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#ifdef CAESURA_HDF5_ARCHIVE
#include "hdf5/names/names.h"
#endif

namespace caesura::hdf5 {
namespace {

Status loader_error(const std::string& path) {
    const char* message = dlerror();
    return {StatusCode::unsupported,
            fmt::format("plugin {} cannot be loaded: {}", path, message ? message : "no reason")};
}

/// A symbol as a plugin will see it: in the program and what was made global since it started.
/// RTLD_DEFAULT would not do: it also looks into the libraries of the module this code lies in.
void* find_globally(const char* symbol) {
    void* program = dlopen(nullptr, RTLD_LAZY);
    void* found = program ? dlsym(program, symbol) : nullptr;
    if (program) dlclose(program);
    return found;
}

void* address_of_our_h5open() { return reinterpret_cast<void*>(&H5open); }

bool malloc_is_libc() {
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!libc) return false;
    const bool same = dlsym(libc, "malloc") == find_globally("malloc");
    dlclose(libc);
    return same;
}

/// A descriptor on an anonymous copy of the file, or -1 with errno set.
int anonymous_copy(const std::string& path) {
    const int source = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (source < 0) return -1;
    struct stat about {};
    int copy = fstat(source, &about) == 0 ? memfd_create("caesura-plugin", MFD_CLOEXEC) : -1;
    off_t left = about.st_size;
    while (copy >= 0 && left > 0) {
        const ssize_t sent = sendfile(copy, source, nullptr, static_cast<std::size_t>(left));
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) {
            close(copy);
            copy = -1;
            break;
        }
        left -= sent;
    }
    close(source);
    return copy;
}

/// The library in which a plugin finds our HDF5 by name: `ours`, where that shows its names.
std::string library_with_names(const std::string& ours) {
#ifdef CAESURA_HDF5_ARCHIVE
    const std::string path =
        ours.substr(0, ours.rfind('/') + 1) + std::string(CAESURA_HDF5_ARCHIVE);
    static const bool taken = [&path] {
        void* names = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // for good
        if (!names || H5open() < 0) return false;  // the variables have their values from here on
        const auto take =
            reinterpret_cast<caesura_hdf5_take_function>(dlsym(names, CAESURA_HDF5_TAKE));
        if (!take) return false;
#define ADDRESS(name) reinterpret_cast<void (*)()>(&name),
        static void (*const functions[])() = {CAESURA_HDF5_FUNCTIONS(ADDRESS)};
#define VALUE(name) name,
        const std::int64_t variables[] = {CAESURA_HDF5_VARIABLES(VALUE)};
        take(functions, variables);
        return true;
    }();
    return taken ? path : ours;
#else
    return ours;
#endif
}

/// Point the stand-ins of a plugin at the libhdf5 that this library calls.
Status direct_to_our_hdf5(void* plugin, const std::string& path) {
    using InitFilter = int (*)(const char*);
    const auto init_filter = reinterpret_cast<InitFilter>(dlsym(plugin, "init_filter"));
    // Without stand-ins the plugin either needs no HDF5 (Zstd) or names it as a dependency.
    if (!init_filter) return {};
    Dl_info about{};
    if (!dladdr(address_of_our_h5open(), &about) || !about.dli_fname) return loader_error(path);
    const std::string names = library_with_names(about.dli_fname);
    // init_filter dereferences what it looks up, unchecked: look first.
    void* hdf5 = dlopen(names.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    constexpr std::array k_needed = {"H5open",
                                     "H5Pmodify_filter",
                                     "H5E_ARGS_g",
                                     "H5E_PLINE_g",
                                     "H5P_CLS_DATASET_CREATE_ID_g",
                                     "H5T_STD_U64LE_g"};
    bool complete = hdf5 != nullptr;
    for (const char* symbol : k_needed) complete = complete && dlsym(hdf5, symbol);
    if (hdf5) dlclose(hdf5);
    if (!complete) {
        return {StatusCode::unsupported,
                fmt::format("plugin {} cannot reach HDF5: {} does not export its functions; link "
                            "HDF5 as a shared library",
                            path, names)};
    }
    if (init_filter(names.c_str()) < 0) return loader_error(path);
    return {};
}

Result<void*> load_private_copy(const std::string& path, int flags) {
    const int copy = anonymous_copy(path);
    if (copy < 0) {
        return Status(
            StatusCode::unsupported,
            fmt::format("plugin {} cannot be copied to memory: {}", path, std::strerror(errno)));
    }
    // The descriptor stays open for good: the dynamic linker also knows a library by its name, and
    // a later copy under the same number would be taken for this one.
    void* plugin = dlopen(fmt::format("/proc/self/fd/{}", copy).c_str(), flags);
    if (!plugin) {
        Status status = loader_error(path);
        close(copy);
        return status;
    }
    if (Status status = direct_to_our_hdf5(plugin, path); !status.ok()) return status;
    return plugin;
}

}  // namespace

Result<void*> peek_plugin(const std::string& path) {
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!plugin) return loader_error(path);
    return plugin;
}

Result<void*> load_plugin(const std::string& path) {
    void* global = find_globally("H5open");
    if (global == address_of_our_h5open()) return peek_plugin(path);  // case (a)
    if (!global) return load_private_copy(path, RTLD_NOW | RTLD_LOCAL);
    if (!malloc_is_libc()) {
        return Status(StatusCode::unsupported,
                      fmt::format("plugin {} would call another HDF5 than this library's: the "
                                  "process has a second one in its global scope, and malloc is "
                                  "replaced, which rules out the way around it; link only one HDF5",
                                  path));
    }
    return load_private_copy(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

}  // namespace caesura::hdf5
