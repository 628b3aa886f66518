// A file and its writer of C for a test, of this process alone.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "caesura/caesura.h"

namespace caesura::testing_c {

struct File {
    explicit File(const char* name)
        : path(::testing::TempDir() + name + std::to_string(::getpid()) + ".h5") {
        EXPECT_EQ(caesura_writer_create(path.c_str(), nullptr, nullptr, &writer), CAESURA_OK)
            << caesura_last_error();
    }
    ~File() { std::filesystem::remove(path); }

    std::string path;
    caesura_writer* writer = nullptr;
};

inline std::string last_error() { return caesura_last_error(); }

}  // namespace caesura::testing_c
