// The map of bounds that a file says of a dataset, read back: what codec::to_json() has written, or
// anything else that somebody has put there.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "caesura/bound_map.hpp"

namespace caesura::vol {

/// The map, and the bound elsewhere. None: the text is no map of a dataset of 1 to 4 axes.
std::optional<std::pair<BoundMap, double>> bound_map_in(const std::string& text);

}  // namespace caesura::vol
