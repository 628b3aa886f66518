// The estimate of a block that was estimated before. To choose predictor and settings takes most of
// an estimate's time, and they hardly change from dump to dump; and how far off a brief look is
// hardly changes either.
#pragma once

#include <optional>

#include "codec/estimate/choice.hpp"

namespace caesura::codec {

/// As estimate_part().
/// @param settings  in: what to assume, as it came out for an earlier block of this shape, type and
///                  mode; none: choose. Null: choose, and keep nothing. Out: what was assumed; none
///                  where nothing is chosen (blocks of several slabs, of one value, without loss,
///                  or of types coded as another).
Result<Estimate> estimate_again(const std::byte* array, DType dtype, const Box& array_box,
                                const Box& part, const ErrorBound& bound,
                                const CompressOptions& options, std::optional<Choice>* settings);

}  // namespace caesura::codec
