// An analysis on the ranks' own values, merged over all of them: the same call, and the same result
// on every rank.
#pragma once

#include "lambda/registry.hpp"

namespace caesura::lambda {

/// @param regions  of this rank; together they are the object's. Collective: all ranks with the
///                 same call. Functions whose states do not merge are unsupported.
/// Errors: those of Registry::start, the iterator, AnalysisState, of any rank, on all of them; the
/// communicator's.
/// Source: S4 §III-B. Differs: states are merged over ranks.
Result<Results> run_over_ranks(const Registry& registry, std::string_view call,
                               RegionIterator& regions, Communicator& ranks);

}  // namespace caesura::lambda
