// Plugins reach the right HDF5 when ours is not in the process's global scope. This program itself
// is not linked to HDF5; it opens a module that is, as Python opens an extension.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>

#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

using Trial = int (*)(const char*, char*, std::size_t);

/// Runs a codec inside the module; what it says in `message`.
int trial(const char* codec_name, std::array<char, 2000>& message) {
    void* module = dlopen(CAESURA_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        ADD_FAILURE() << dlerror();
        return -1;
    }
    const auto function = reinterpret_cast<Trial>(dlsym(module, "caesura_codec_trial"));
    return function ? function(codec_name, message.data(), message.size()) : -1;
}

void expect_every_codec_works() {
    for (const char* name : {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd"}) {
        std::array<char, 2000> message{};
        const int bytes = trial(name, message);
        EXPECT_GT(bytes, 0) << name << ": " << message.data();
        EXPECT_LE(bytes, 16384) << name;
        if (std::string_view(name) == "sz3") {
            EXPECT_LT(bytes, 4000) << name;
        }
    }
}

TEST(PluginLoader, works_where_no_hdf5_is_in_the_global_scope) {
    CAESURA_NEEDS_PLUGINS();
    ASSERT_EQ(dlsym(RTLD_DEFAULT, "H5open"), nullptr);
    expect_every_codec_works();
}

// What hdf5plugin does for h5py: the same plugin file, directed to another HDF5, before or after.
TEST(PluginLoader, leaves_the_applications_copy_of_a_plugin_alone) {
    CAESURA_NEEDS_PLUGINS();
    const std::string path = std::string(std::getenv("HDF5_PLUGIN_PATH")) + "/libh5zfp.so";
    void* theirs = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(theirs) << dlerror();
    // Their stand-ins are still undirected: H5open does nothing and returns 0. What marks them as
    // untouched is an id that a directed plugin would have taken from its HDF5.
    const auto* id = static_cast<const std::int64_t*>(dlsym(theirs, "H5E_PLINE_g"));
    ASSERT_TRUE(id);
    ASSERT_EQ(*id, -1);
    expect_every_codec_works();
    EXPECT_EQ(*id, -1);
}

}  // namespace
}  // namespace caesura::hdf5
