// What a block will cost with settings that have been chosen, from a sample.
#pragma once

#include "codec/entropy/entropy.hpp"
#include "codec/estimate/tune.hpp"

namespace caesura::codec {

/// Bytes of the block's part.
/// @param tables       those that its codes will be coded with.
/// @param drift_check  may it bring its own where those do not fit?
template <class T>
std::uint64_t measure(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                      const Choice& choice, Coding coding, const TableSet& tables, bool drift_check,
                      PredictorScratch& scratch);

}  // namespace caesura::codec
