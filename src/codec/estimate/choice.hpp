// How one slab is coded.
#pragma once

#include "codec/frame/frame.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

struct Choice {
    PartKind kind = PartKind::interpolation;
    LorenzoSettings lorenzo;
    InterpolationSettings interpolation;
    Coding coding = Coding::rans;   ///< but in mode planes, which has one
    std::uint64_t bytes = 0;        ///< predicted size of the part
    std::uint64_t rough_bytes = 0;  ///< what choose() took it for
    /// What a whole look found over what a brief one did, when it was chosen; 0: not known.
    double whole_over_brief = 0.0;
};

/// Adaptive coding takes some 20 ns for a bit, rANS next to nothing: the more bits a value takes,
/// the more has to be saved. (A sample sees too little of bursts, and then rANS's bytes are too
/// few.)
/// @param values  of the block.
/// @param doubt   of the two bytes' ratio.
inline bool is_worth_adapting(std::uint64_t adaptive_bytes, std::uint64_t rans_bytes,
                              std::uint64_t values, double doubt = 0.0) {
    const auto bytes = static_cast<double>(adaptive_bytes);
    const double bits = 8 * bytes / static_cast<double>(values);
    return bytes < (0.9 + doubt - 0.1 * bits) * static_cast<double>(rans_bytes);
}

}  // namespace caesura::codec
