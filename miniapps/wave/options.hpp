// What the command line of wave says.
#pragma once

#include <cstdint>
#include <string>

namespace wave {

struct Options {
    // What to compute.
    int nz = 96, ny = 64, nx = 160;
    float spacing_m = 10.0F;
    float frequency_hz = 15.0F;
    double record_s = 1.0;
    int shots = 4;
    int sponge = 16;
    int threads = 0;  ///< 0: as many as the machine has
    bool gpu = false;
    // How to keep the forward waves.
    int every = 6;
    std::uint64_t cache_bytes = 128'000'000;
    double bound = 0.0;  ///< absolute, of the wavefield; 0: lossless
    std::string profile;
    double link_bytes_per_s = 25e9;  ///< expected, and an emulated GPU's
    double cells_per_s = 30e9;       ///< of an emulated GPU
    // What to learn.
    std::string image, velocity, json;
    bool check = false, quiet = false, help = false;
};

/// Throws std::invalid_argument with a sentence about the first mistake.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace wave
