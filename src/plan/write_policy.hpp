// When the write lane writes: a pure decision over plain numbers. The Writer's lane and the
// simulator's call it.
//
// Invariants:
//  - No clock, no thread: what a test says is what the lane does.
//  - Never waits for ever: draining or exhausted patience overrides every obstacle but the one the
//    application is in right now (and draining even that).
//  - Bytes are doubles, because simulated blocks are no whole numbers of them. Those of real blocks
//    are exact below 2^53.
#pragma once

#include "plan/gap.hpp"

namespace caesura::plan {

/// A line t = latency + bytes / rate: what a write is expected to take.
struct WriteCost {
    double latency_s = 1e-3;
    double bytes_per_s = 1e9;
    double seconds(double bytes) const { return latency_s + bytes / bytes_per_s; }
    double seconds(std::uint64_t bytes) const { return seconds(static_cast<double>(bytes)); }
};

struct WriteView {
    bool planning = true;
    bool in_order = false;                ///< only the first ready block may begin a write
    bool draining = false;                ///< somebody waits for the lane to be empty
    bool application_writes = false;      ///< inside a marked obstacle of the write lane now
    Gap gap;                              ///< before the next predicted obstacle of the write lane
    std::span<const double> ready_bytes;  ///< compressed blocks in planned order
    bool more_coming = false;             ///< blocks of this dump are still to compress
    double oldest_wait_s = 0.0;           ///< of the first ready block
    double patience_s = 1.0;              ///< about one iteration
    double buffer_bytes = 20u << 20;      ///< gather at most so much into one write
    /// A smaller write waits for company. S0 §4.2: writes "under 1 MB are slow".
    double small_bytes = 1u << 20;
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

}  // namespace caesura::plan
