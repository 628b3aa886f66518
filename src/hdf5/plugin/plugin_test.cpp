// The plugin in a process without HDF5: it loads, needs nothing, decodes and encodes, and leaves
// HDF5's buffer alone when it fails. This program is not linked to HDF5.
#include <H5Ipublic.h>
#include <H5Zpublic.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "hdf5/filter/filter.hpp"

namespace caesura::hdf5 {
namespace {

const H5Z_class2_t* load_plugin() {
    void* module = dlopen(CAESURA_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        ADD_FAILURE() << dlerror();
        return nullptr;
    }
    const auto info = reinterpret_cast<const void* (*)()>(dlsym(module, "H5PLget_plugin_info"));
    const auto type = reinterpret_cast<int (*)()>(dlsym(module, "H5PLget_plugin_type"));
    if (!info || !type || type() != 0) {
        ADD_FAILURE() << "not a filter plugin";
        return nullptr;
    }
    return static_cast<const H5Z_class2_t*>(info());
}

/// A buffer as HDF5 hands it over, and what came of it.
struct Buffer {
    explicit Buffer(std::span<const std::byte> bytes)
        : data(std::malloc(bytes.size() + 1)), capacity(bytes.size()) {
        std::memcpy(data, bytes.data(), bytes.size());
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data); }
    std::size_t apply(const H5Z_class2_t& plugin, unsigned flags,
                      const std::vector<unsigned>& cd_values, std::size_t n) {
        return plugin.filter(flags, cd_values.size(), cd_values.data(), n, &capacity, &data);
    }
    void* data;
    std::size_t capacity;
};

std::vector<float> ramp(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(i % 100) + 0.1F * static_cast<float>(i % 7);
    return values;
}

TEST(Plugin, is_a_filter_of_our_number_and_needs_no_symbol_of_hdf5) {
    ASSERT_EQ(dlsym(RTLD_DEFAULT, "H5open"), nullptr);
    const H5Z_class2_t* plugin = load_plugin();  // RTLD_NOW: nothing is left open
    ASSERT_TRUE(plugin);
    EXPECT_EQ(plugin->version, H5Z_CLASS_T_VERS);
    EXPECT_EQ(plugin->id, static_cast<H5Z_filter_t>(k_filter_id));
    EXPECT_EQ(plugin->encoder_present, 1U);
    EXPECT_EQ(plugin->decoder_present, 1U);
    EXPECT_STREQ(plugin->name, k_filter_name);
    EXPECT_GE(k_filter_id, 256U);
    EXPECT_LE(k_filter_id, 511U);
}

/// Lines that a command prints.
std::vector<std::string> lines_of(const std::string& command) {
    std::vector<std::string> lines;
    FILE* pipe = popen(command.c_str(), "r");
    char line[1000];
    while (pipe && std::fgets(line, sizeof line, pipe)) lines.emplace_back(line);
    if (pipe) pclose(pipe);
    return lines;
}

TEST(Plugin, leaves_no_symbol_of_hdf5_undefined_and_exports_two_functions) {
    const auto undefined = lines_of("nm -D --undefined-only " CAESURA_TEST_PLUGIN);
    if (undefined.empty()) GTEST_SKIP() << "nm is not installed (binutils)";
    for (const std::string& line : undefined)
        EXPECT_EQ(line.find(" H5"), std::string::npos) << line;
    EXPECT_EQ(lines_of("nm -D --defined-only " CAESURA_TEST_PLUGIN " | grep -c ' [TDBVWu] '"),
              std::vector<std::string>{"2\n"});
}

TEST(Plugin, encodes_and_decodes_from_complete_cd_values_where_there_is_no_hdf5) {
    const H5Z_class2_t* plugin = load_plugin();
    ASSERT_TRUE(plugin);
    EXPECT_GE(plugin->set_local(0, 0, 0), 0);  // no HDF5 to ask: the values stay as they are
    const auto values = ramp(32 * 32 * 32);
    const auto bytes = std::as_bytes(std::span(values));
    for (const ErrorBound bound : {absolute(0.01), lossless()}) {
        const auto cd_values =
            *to_cd_values(settings_of(float32, {32, 32, 32}, bound, Mode::automatic, TableSet()));
        Buffer buffer(bytes);
        const std::size_t stored = buffer.apply(*plugin, 0, cd_values, bytes.size());
        ASSERT_GT(stored, 0U);
        EXPECT_LT(stored, bytes.size() / 2);
        ASSERT_EQ(buffer.apply(*plugin, H5Z_FLAG_REVERSE, cd_values, stored), bytes.size());
        EXPECT_GE(buffer.capacity, bytes.size());
        const auto* read = static_cast<const float*>(buffer.data);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_LE(std::abs(read[i] - values[i]), bound.value) << i;
    }
}

TEST(Plugin, what_cannot_be_compressed_grows_into_a_new_buffer_and_comes_back) {
    const H5Z_class2_t* plugin = load_plugin();
    ASSERT_TRUE(plugin);
    const std::vector<std::byte> bytes = {std::byte{1}, std::byte{200}, std::byte{3}};
    Buffer buffer(bytes);
    const std::size_t stored = buffer.apply(*plugin, 0, {}, bytes.size());
    ASSERT_GT(stored, bytes.size());
    EXPECT_LE(stored, bytes.size() + k_frame_overhead_bytes);
    ASSERT_EQ(buffer.apply(*plugin, H5Z_FLAG_REVERSE, {}, stored), bytes.size());
    EXPECT_EQ(std::memcmp(buffer.data, bytes.data(), bytes.size()), 0);
}

TEST(Plugin, a_failure_returns_0_and_leaves_the_buffer_as_it_was) {
    const H5Z_class2_t* plugin = load_plugin();
    ASSERT_TRUE(plugin);
    const auto values = ramp(1000);
    const auto bytes = std::as_bytes(std::span(values));
    const auto other_size =
        *to_cd_values(settings_of(float32, {999}, absolute(1), Mode::fast, TableSet()));
    const struct {
        unsigned flags;
        std::vector<unsigned> cd_values;
    } k_cases[] = {
        {H5Z_FLAG_REVERSE, {}},  // not a frame
        {0, {0, 9, 1, 1}},       // no such kind of bound
        {0, {0, 1, 1, 3}},       // a bound, and nobody said of which type the values are
        {0, other_size},
    };
    for (const auto& one : k_cases) {
        Buffer buffer(bytes);
        void* const data = buffer.data;
        EXPECT_EQ(buffer.apply(*plugin, one.flags, one.cd_values, bytes.size()), 0U);
        EXPECT_EQ(buffer.data, data);
        EXPECT_EQ(buffer.capacity, bytes.size());
        EXPECT_EQ(std::memcmp(buffer.data, bytes.data(), bytes.size()), 0);
    }
}

TEST(Plugin, works_in_threads_that_outlive_its_handle) {
    const H5Z_class2_t* plugin = load_plugin();
    ASSERT_TRUE(plugin);
    const auto values = ramp(4096);
    const auto bytes = std::as_bytes(std::span(values));
    const auto cd_values =
        *to_cd_values(settings_of(float32, {4096}, absolute(0.1), Mode::strong, TableSet()));
    std::thread worker([&] {
        Buffer buffer(bytes);
        const std::size_t stored = buffer.apply(*plugin, 0, cd_values, bytes.size());
        EXPECT_EQ(buffer.apply(*plugin, H5Z_FLAG_REVERSE, cd_values, stored), bytes.size());
        // As HDF5 does when it closes: the thread's working memory is freed after this.
        void* module = dlopen(CAESURA_TEST_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
        for (int i = 0; module && i < 20; ++i) dlclose(module);
    });
    worker.join();
    EXPECT_EQ(plugin->id, static_cast<H5Z_filter_t>(k_filter_id));
}

}  // namespace
}  // namespace caesura::hdf5
