// What a run is told; see help_text().
#pragma once

#include <string>
#include <vector>

namespace blast {

struct Options {
    int grid = 32;            ///< cells a side of level 0, a multiple of 8
    int steps = 60;           ///< of all levels together
    int regrid_every = 4;     ///< steps
    int dump_every = 10;      ///< steps; the start is dumped too
    double threshold = 0.08;  ///< relative jump of density or pressure to a neighbour: refine
    std::string output = "blast.h5";
    std::string codec = "caesura";
    double bound = 1e-3;  ///< absolute, of density and pressure; unused where codecs are lossless
    bool check = false;
};

std::string help_text();
/// Throws std::invalid_argument, naming option and value.
Options parse(const std::vector<std::string>& arguments);

}  // namespace blast
