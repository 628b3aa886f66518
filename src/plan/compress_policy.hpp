// Which compression to begin where the worker is not preempted: a pure decision over plain numbers.
// The Writer's lane and the simulator's call it.
//
// Invariants:
//  - What is begun is expected to end before the application needs the core again.
//  - Never waits for ever: exhausted patience overrides every obstacle but the one the application
//    is in right now.
#pragma once

#include <optional>

#include "plan/gap.hpp"

namespace caesura::plan {

struct CompressView {
    double now_s = 0.0;
    bool application_computes = false;   ///< inside a marked obstacle of the lane now
    Gap gap;                             ///< before the next expected obstacle
    std::span<const double> expected_s;  ///< of the jobs not begun, in planned order
    /// When patience ends, on the clock of `now_s`; about one iteration after a job could last be
    /// begun.
    double patience_ends_s = std::numeric_limits<double>::infinity();
};

struct CompressDecision {
    std::optional<std::size_t> begin;  ///< this job, now
    double wait_until_s = -1.0;  ///< else: decide again then, or at an event; < 0: at an event
};

/// The first job that fits before the next expected obstacle.
/// Source: S0 §3.2 (no task across an obstacle). Differs: a job that fits goes before one that does
/// not, which is no later for it.
CompressDecision decide_compress(const CompressView& view);

}  // namespace caesura::plan
