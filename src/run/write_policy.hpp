// When the write lane writes: a pure decision over plain numbers.
//
// Invariants:
//  - No clock, no thread: what a test says is what the lane does.
//  - Never waits for ever: draining or exhausted patience overrides every obstacle but the one the
//    application is in right now (and draining even that).
#pragma once

#include <span>

#include "caesura/plan.hpp"
#include "run/job.hpp"

namespace caesura::run {

struct WriteView {
    double now_s = 0.0;  ///< since the begin of the iteration
    bool planning = true;
    bool draining = false;                       ///< somebody waits for the lane to be empty
    bool application_writes = false;             ///< inside a marked obstacle of the write lane now
    std::span<const plan::Interval> obstacles;   ///< predicted, sorted, since the same begin
    std::span<const std::uint64_t> ready_bytes;  ///< compressed blocks in planned order
    bool more_coming = false;                    ///< blocks of this dump are still to compress
    double oldest_wait_s = 0.0;                  ///< of the first ready block
    double patience_s = 1.0;                     ///< about one iteration
    std::uint64_t buffer_bytes = 20u << 20;      ///< gather at most so much into one write
    WriteCost cost;
};

struct WriteDecision {
    std::size_t first = 0;       ///< write ready blocks from this one on,
    std::size_t take = 0;        ///< so many, now
    double wait_until_s = -1.0;  ///< else: decide again then, or at an event; < 0: at an event only
};

/// Source: S0 §4.2 (compressed data buffer), S0 §3.2 (no write across an obstacle).
/// Differs: a gathered write takes as many blocks as fit before the next predicted obstacle, from
/// the first on that fits: a smaller one may go before one that has to wait, which is no later
/// for it.
WriteDecision decide_write(const WriteView& view);

}  // namespace caesura::run
