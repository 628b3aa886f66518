// How one slab is coded.
#pragma once

#include "codec/frame/frame.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

struct Choice {
    PartKind kind = PartKind::interpolation;
    LorenzoSettings lorenzo;
    InterpolationSettings interpolation;
    std::uint64_t bytes = 0;        ///< predicted size of the part
    std::uint64_t rough_bytes = 0;  ///< what choose() took it for
    /// What a whole look found over what a brief one did, when it was chosen; 0: not known.
    double whole_over_brief = 0.0;
};

}  // namespace caesura::codec
