// Which of a piece's codes are like those of a large block: the ones predicted from four sources.
//
// In a piece many targets lie so near an edge that some source is missing; in a block few do. The
// encoder itself tells which: of a sum of fourth powers of the coordinates, a cubic through four
// sources misses the same amount everywhere, and any other prediction another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/predictors.hpp"

namespace caesura::codec {

inline constexpr std::size_t k_code_levels = 2;  // the finest and the next are told apart
/// Of a level and an axis of the block; k_other_codes for those near an edge.
inline constexpr std::size_t k_code_classes = k_code_levels * k_max_rank;
inline constexpr std::uint8_t k_other_codes = k_code_classes;

/// The class of each code of an array of this shape, in coding order.
std::vector<std::uint8_t> classify_codes(const Shape& shape, const InterpolationSettings& settings,
                                         PredictorScratch& scratch);

/// Values on the grid of a level.
std::uint64_t count_at(const Shape& shape, int level);
/// Targets of the pass along `axis` on a level.
std::uint64_t count_targets(const Shape& shape, const InterpolationSettings& settings, int level,
                            int axis);

}  // namespace caesura::codec
