// The choice of predictor and settings for one slab, and what they will cost.
//
// Invariants:
//  - A choice depends on the values, the quantiser and the tables alone: the same everywhere.
#pragma once

#include <span>

#include "caesura/codec.hpp"
#include "codec/entropy.hpp"
#include "codec/frame.hpp"
#include "codec/predictors.hpp"

namespace caesura::codec {

struct Choice {
    PartKind kind = PartKind::interpolation;  ///< lorenzo or interpolation
    LorenzoSettings lorenzo;
    InterpolationSettings interpolation;
    std::uint64_t bytes = 0;  ///< predicted size of the part
};

/// @param mode  automatic: the better of both predictors; else settings of that mode's predictor.
template <class T>
Choice choose(std::span<const T> values, const Shape& shape, const Quantiser<T>& quantiser,
              Mode mode, Coding coding, const TableSet& tables);

}  // namespace caesura::codec
