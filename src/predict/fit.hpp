// Fitting by least absolute errors with coefficients >= 0: what the curves have in common.
//
// Invariants:
//  - Pure and deterministic; every answer is finite and >= 0, whatever the rows.
#pragma once

#include <cstddef>
#include <vector>

namespace caesura::predict {

/// Find v >= 0 so that row . v is close to 1 for every row: sum |row . v - 1| as small as can be.
///
/// A row holds the contribution of each coefficient over what was measured, so that the errors are
/// relative ones. Of coefficients that the rows cannot tell apart the smaller ones are taken.
/// @param rows  [n][columns], finite.
/// @return  [columns]; zeros for no rows. O(rows columns^2) per round, some 30 rounds.
std::vector<double> fit_nonnegative(const std::vector<std::vector<double>>& rows,
                                    std::size_t columns);

/// The middle one (of an even number the mean of both); 0 of none.
double median(std::vector<double> values);

}  // namespace caesura::predict
