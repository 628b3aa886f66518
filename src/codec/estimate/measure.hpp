// What a block will cost with settings that have been chosen, from a sample.
#pragma once

#include "codec/entropy/entropy.hpp"
#include "codec/estimate/tune.hpp"

namespace caesura::codec {

/// A brief look costs a third of a whole one. By itself it errs by some percent; between two of a
/// block, which are at the same places, most of that cancels.
enum class Look { whole, brief };

struct Measuring {
    Look look = Look::whole;
    bool planes = false;      ///< the codes go into planes; else what follows
    const TableSet& tables;   ///< those that rANS will have
    bool drift_check = true;  ///< may it bring its own where those do not fit?
    bool all_codes = false;   ///< count all codes instead of a sample; not in planes
    /// Where rANS takes less than this, ask also what adaptive coding would take.
    std::uint64_t adaptive_below = 0;
};

/// Bytes of the block's part.
struct Measured {
    std::uint64_t bytes = 0;           ///< by planes or rANS
    std::uint64_t adaptive_bytes = 0;  ///< 0: not asked for
};

template <class T>
Measured measure(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                 const Choice& choice, const Measuring& how, PredictorScratch& scratch);

}  // namespace caesura::codec
