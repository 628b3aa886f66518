// What the benches of ageing tables read: a field's dumps, and how they are to be coded. Of the
// product's coder it is bench/codec/aging.cpp, of S0's lab/huffman/aging_bench.cpp.
#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "caesura/codec.hpp"

namespace caesura::bench {

[[noreturn]] inline void fail(const std::string& message) {
    std::cerr << message << "\n";
    std::exit(1);
}

/// The dumps of a field, and how they are to be coded.
struct DumpSeries {
    std::string directory, field;
    int first = 0, ages = 0;
    CompressOptions options;
    ErrorBound bound;
};

/// From the words of the command line: DIRECTORY FIELD FIRST AGES MODE KIND BOUND.
inline DumpSeries series_of(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 7) fail("wants DIRECTORY FIELD FIRST AGES MODE KIND BOUND");
    DumpSeries series;
    series.directory = words[0];
    series.field = words[1];
    series.first = std::stoi(words[2]);
    series.ages = std::stoi(words[3]);
    series.options.mode = words[4] == "fast" ? Mode::fast : Mode::strong;
    const double bound = std::stod(words[6]);
    series.bound = words[5] == "relative" ? relative(bound) : absolute(bound);
    return series;
}

/// The values of DIRECTORY/FIELD_<number>.bin, raw float32.
inline std::vector<float> read_cube(const DumpSeries& series, int number) {
    const std::string path =
        series.directory + "/" + series.field + "_" + std::to_string(number) + ".bin";
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) fail("cannot read " + path);
    std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
    if (!file) fail("cannot read " + path);
    return values;
}

inline Shape cube_shape(std::size_t count) {
    const auto side = static_cast<std::uint64_t>(std::llround(std::cbrt(count)));
    if (side * side * side != count) fail("not a cube: " + std::to_string(count) + " values");
    return Shape{side, side, side};
}

}  // namespace caesura::bench
