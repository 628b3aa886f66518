// Integers become float64, which analyses take: beyond 2^53 rounded to the nearest.
#pragma once

#include "lambda/region.hpp"

namespace caesura::lambda {

class AsDoubles {
  public:
    /// The region; one of integers with its values as float64, valid until the next call.
    /// Errors: those of validate(). Throws std::bad_alloc.
    Result<RegionView> of(const RegionView& region);

  private:
    std::vector<double> values_;
};

}  // namespace caesura::lambda
