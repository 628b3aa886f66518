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
};

}  // namespace caesura::codec
