// From what was sampled to a codec's bytes, before anything is learned of the field, and how far
// such a guess can be trusted.
#pragma once

#include <array>

#include "predict/family.hpp"
#include "predict/predict.hpp"

namespace caesura::predict {

/// Spreads of ln(stored / guessed), at one bit per value.
struct Priors {
    double field;   ///< a field's own factor is so far from 1
    double block;   ///< from block to block of a field
    double step;    ///< of one block, from dump to dump
    double floor;   ///< no field is more regular than this
    double beyond;  ///< more for each e-fold that the guess moves away from what was learned
    double memory;  ///< share of a block's step that stays: 1 where it is a walk, less where it is
                    ///< the sample's noise
    bool followed;  ///< the guess is made by the codec's own steps, so that only sampling errs
};
Priors priors_of(Family family, bool estimated);

/// Of one block's ln(stored) from dump to dump, before any such step has been seen: where a glance
/// finds the field as it was.
inline constexpr double k_size_step = 0.03;

/// Stored bytes to be expected; > 0. SZ3 has two ways to predict values and chooses between them by
/// a test on a few small parts of the block: which way a block went is seen when it is finished,
/// and mostly stays so in the next dump.
struct Guess {
    double bytes = 0.0;              ///< where nothing is known of the block
    std::array<double, 2> by_way{};  ///< the same number twice for all other codecs
};
/// @param raw_bytes  of the whole block.
Guess guess_bytes(Family family, const Features& features, double raw_bytes);

}  // namespace caesura::predict
