// Fitting by least absolute logarithmic errors with coefficients >= 0: what the curves have in
// common.
//
// Invariants:
//  - Pure and deterministic; every answer is finite and >= 0, whatever the rows.
#pragma once

#include <cstddef>
#include <vector>

namespace caesura::predict {

/// Find v >= 0 so that row . v is close to 1 for every row: sum |ln(row . v)| small.
///
/// A row holds the contribution of each coefficient over what was measured, so that errors are
/// ratios: twice too long counts as much as half as long, and single wild rows do not decide.
/// @param rows  [n][columns], finite.
/// @return  [columns]; zeros for no rows. O(rows columns^2) per round, 40 rounds.
std::vector<double> fit_nonnegative(const std::vector<std::vector<double>>& rows,
                                    std::size_t columns);

}  // namespace caesura::predict
