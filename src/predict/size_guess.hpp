// From what was sampled to a codec's bytes, before anything is learned of the field, and how far
// such a guess can be trusted.
#pragma once

#include "caesura/predict.hpp"
#include "predict/family.hpp"

namespace caesura::predict {

/// Spreads of ln(stored / guessed), at one bit per value and above.
struct Priors {
    double field;   ///< a field's own factor is so far from 1
    double block;   ///< from block to block of a field
    double step;    ///< of one block, from dump to dump
    double floor;   ///< no field is more regular than this
    double beyond;  ///< more for each e-fold that the guess moves away from what was learned
    double memory;  ///< share of a block's step that stays: 1 where it is a walk, less where it is
                    ///< the sample's noise
};
Priors priors_of(Family family, bool estimated);

/// The stored bytes to be expected; > 0.
/// @param raw_bytes  of the whole block.
double guessed_bytes(Family family, const Features& features, double raw_bytes);

}  // namespace caesura::predict
