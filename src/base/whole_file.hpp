// Test support: a file as its bytes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "caesura/base.hpp"

namespace caesura::base {

/// A new file each time: ext4 sends what replaces a truncated file to the disk at once.
inline bool put_file(const std::string& path, std::span<const std::byte> bytes) {
    std::filesystem::remove(path);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return out.good();
}

/// Empty if it cannot be read.
inline std::vector<std::byte> get_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

}  // namespace caesura::base
