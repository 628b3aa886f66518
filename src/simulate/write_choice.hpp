// When a write lane writes, and how much at once: a pure decision over plain numbers.
//
// Invariants:
//  - The rules are those of the Writer's write lane (src/run/write_policy.cpp), which this room may
//    not know; a figure made here is about those rules and no others.
#pragma once

#include <span>

#include "simulate/expected.hpp"

namespace caesura::simulate {

struct WriteView {
    double now_s = 0.0;
    bool planning = true;
    bool in_order = false;          ///< only the first ready block may begin a write
    bool draining = false;          ///< the application waits for the lane to be empty
    bool application_on = false;    ///< the application is communicating now
    Expected::Gap gap;              ///< before the next expected obstacle
    std::span<const double> ready;  ///< bytes of compressed blocks, in the order they may go
    bool more_coming = false;
    double oldest_wait_s = 0.0;
    double patience_s = 1.0;
    double buffer_bytes = 0.0;                  ///< gather at most so much into one write
    double small_bytes = 0.0;                   ///< a smaller write waits for company
    double latency_s = 0.0, bytes_per_s = 1.0;  ///< what a write is expected to take
};

struct WriteChoice {
    std::size_t first = 0;  ///< write ready blocks from this one on,
    std::size_t take = 0;   ///< so many, now
    double again_s = -1.0;  ///< else: decide again then, or at an event; < 0: at an event only
};

WriteChoice choose_write(const WriteView& view);

}  // namespace caesura::simulate
