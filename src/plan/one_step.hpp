// The cheapest next step where only one step is looked ahead: send raw, or hold until so many are
// there and compress them.
//
// A step leaves the application and the link somewhere. The more it has done for it the better, so
// what it has done is paid at the price that checkpoints have in the long run. There a mix of raw
// and compressed checkpoints keeps both busy, and a second of each is worth what trading one for
// the other yields:
//     raw sent instead of compressed   saves the application each_s, costs the link saved_s.
// So a second of the link is worth w = each_s / (each_s + saved_s), one of the application 1 - w;
// and a checkpoint costs rho = (1 - w) interval_s + w raw_s. A step's excess over that is what it
// has lost: time in which the link lay idle, or the application waited for the cache, or compressed
// too little at once.
//
// The run may end with any checkpoint. Then only the end of the link counts, and the backlog is
// lost. So with k_ends that is charged instead: it is what makes a step early in a run cautious.
//
// Invariants: pure.
#pragma once

#include "plan/together_model.hpp"

namespace caesura::plan {

/// What the step that is under way has taken so far.
struct StepBegun {
    double ago_s = 0.0;   ///< since its first checkpoint was made
    double busy_s = 0.0;  ///< how long the link was busy for, then
};

/// U, C, A or X.
/// @param ahead       what is expected, the checkpoint that has just been made first; as many as
///                    fit the cache together at least.
/// @param interval_s  between checkpoints, in the long run.
char cheapest_step(const CheckpointProfile& ahead, const TogetherStart& start, double interval_s,
                   const StepBegun& begun);

}  // namespace caesura::plan
