// Which compression to begin where the worker is not preempted: a pure decision over plain numbers.
//
// Invariants:
//  - What is begun is expected to end before the application needs the core again.
//  - Never waits for ever: exhausted patience overrides every obstacle but the one the application
//    is in right now.
#pragma once

#include <optional>
#include <span>

#include "caesura/plan.hpp"

namespace caesura::run {

struct CompressView {
    double now_s = 0.0;
    bool application_computes = false;          ///< inside a marked obstacle of the lane now
    std::span<const plan::Interval> obstacles;  ///< expected, sorted, on the same clock
    std::span<const double> expected_s;         ///< of the jobs not begun, in planned order
    double waited_s = 0.0;                      ///< since a job could last be begun
    double patience_s = 1.0;                    ///< about one iteration
};

struct CompressDecision {
    std::optional<std::size_t> begin;  ///< this job, now
    double wait_until_s = -1.0;  ///< else: decide again then, or at an event; < 0: at an event
};

/// The first job that fits before the next expected obstacle.
/// Source: S0 §3.2 (no task across an obstacle). Differs: a job that fits goes before one that does
/// not, which is no later for it.
CompressDecision decide_compress(const CompressView& view);

}  // namespace caesura::run
