// What a block will cost with settings that have been chosen, from a sample.
#pragma once

#include "codec/entropy/entropy.hpp"
#include "codec/estimate/tune.hpp"

namespace caesura::codec {

/// A brief look costs a third of a whole one. By itself it errs by some percent; between two of a
/// block, which are at the same places, most of that cancels.
enum class Look { whole, brief };

/// Bytes of the block's part.
/// @param tables       those that its codes will be coded with.
/// @param drift_check  may it bring its own where those do not fit?
template <class T>
std::uint64_t measure(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                      const Choice& choice, Coding coding, const TableSet& tables, bool drift_check,
                      Look look, PredictorScratch& scratch);

}  // namespace caesura::codec
