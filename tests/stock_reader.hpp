// Reading a file as any HDF5 program would: default driver, H5Dread, no code of ours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::testing {

struct StockDataset {
    std::vector<std::uint64_t> shape;
    std::vector<double> values;
};

/// A dataset's values as double. Empty shape if it is not there or cannot be read.
StockDataset read_dataset(const std::string& path, const std::string& dataset);

/// Names under /data: the iterations that are committed, as a stock reader sees them.
/// {-1} if the file does not open.
std::vector<std::int64_t> iterations(const std::string& path);

/// Is a filter of this number available to H5Dread (its plugin is found)?
bool filter_available(unsigned id);

}  // namespace caesura::testing
