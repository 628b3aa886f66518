// Where the tests find HDF5 filter plugins; without any, the tests that need them are skipped.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace caesura::hdf5 {

/// Sets HDF5_PLUGIN_PATH if it is not set and a virtual environment of the source tree has the
/// hdf5plugin wheel. False if no SZ3 plugin is to be found. Call before HDF5 starts.
inline bool find_test_plugins() {
    namespace fs = std::filesystem;
    const auto has_plugins = [](const fs::path& directory) {
        std::error_code error;
        return fs::exists(directory / "libh5sz3.so", error);
    };
    if (const char* path = std::getenv("HDF5_PLUGIN_PATH")) return has_plugins(path);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(CAESURA_SOURCE_DIR, error)) {
        if (!entry.path().filename().string().starts_with(".venv")) continue;
        for (const auto& python : fs::directory_iterator(entry.path() / "lib", error)) {
            const fs::path directory = python.path() / "site-packages" / "hdf5plugin" / "plugins";
            if (!has_plugins(directory)) continue;
            setenv("HDF5_PLUGIN_PATH", directory.c_str(), 1);
            return true;
        }
    }
    return false;
}

}  // namespace caesura::hdf5

#define CAESURA_NEEDS_PLUGINS()                                               \
    if (!caesura::hdf5::find_test_plugins())                                  \
    GTEST_SKIP() << "no HDF5 filter plugins: pip install hdf5plugin and set " \
                    "HDF5_PLUGIN_PATH=$(python -c 'import hdf5plugin; "       \
                    "print(hdf5plugin.PLUGINS_PATH)')"
