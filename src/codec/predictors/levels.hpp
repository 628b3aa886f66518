// What the interpolation predictor's levels are: grids of every 2^level-th value along each axis,
// each with a lattice of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

/// Values on the grid of a level.
inline std::uint64_t values_at_level(const Shape& shape, int level) {
    std::uint64_t count = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) count *= ((shape[axis] - 1) >> level) + 1;
    return count;
}

/// The step of a level's residuals. @param step  of the finest.
template <class T>
T step_at_level(T step, const InterpolationSettings& settings, int level) {
    double ratio = 1.0;
    for (int i = 0; i < level; ++i) ratio = std::min(ratio * settings.alpha / 16.0, 1e6);
    ratio = std::min(ratio, settings.beta / 16.0);
    return std::max(static_cast<T>(static_cast<double>(step) / ratio),
                    std::numeric_limits<T>::min());
}

}  // namespace caesura::codec
