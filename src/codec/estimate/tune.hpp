// The choice of predictor and settings for one slab, and what they will cost.
//
// Invariants:
//  - A choice depends on the values and the quantiser alone: the same everywhere.
#pragma once

#include "caesura/codec.hpp"
#include "codec/entropy/entropy.hpp"
#include "codec/estimate/choice.hpp"
#include "codec/estimate/rehearsal.hpp"
#include "codec/estimate/spots.hpp"

namespace caesura::codec {

/// Settings, and a rough size.
/// @param mode  automatic: the better of both predictors; else settings of that mode's predictor.
template <class T>
Choice choose(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser, Mode mode,
              Rehearsal<T>& rehearsal);

}  // namespace caesura::codec
