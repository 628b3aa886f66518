// The trace: every task, obstacle and wait of a rank, as Chrome-trace JSON.
//
// Invariants:
//  - One TraceLane per thread, written by that thread alone; a Trace is written out only when its
//    threads are quiet. So no lock is needed while tracing.
//  - Times are the Clock's seconds; the file holds microseconds since `origin_s`.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::base {

struct TraceEvent {
    const char* kind;  ///< "compress", "write", "sync", "obstacle", "wait", "plan", "commit",
                       ///< "planned_compress", "planned_write", "iteration", "put", "end",
                       ///< "pause" (the application waits, its core is free)
    std::string name;  ///< e.g. "temperature #3"
    double begin_s = 0.0;
    double end_s = 0.0;
    std::uint64_t iteration = 0;
    std::uint64_t bytes = 0;        ///< of the block or write; 0 where it has none
    std::uint64_t given_bytes = 0;  ///< of these: values for a service, which compresses them
};

class TraceLane {
  public:
    explicit TraceLane(std::string name) : name_(std::move(name)) {}
    void add(TraceEvent event) { events_.push_back(std::move(event)); }
    const std::string& name() const { return name_; }
    const std::deque<TraceEvent>& events() const { return events_; }

  private:
    std::string name_;
    std::deque<TraceEvent> events_;
};

/// Write lanes of one rank: "X" events with pid = rank, tid = lane number, args {iteration, bytes},
/// plus thread_name and process_name metadata. Opens in chrome://tracing and Perfetto.
/// Errors: io, no_space.
Status write_chrome_trace(const std::string& path, int rank, double origin_s,
                          const std::vector<const TraceLane*>& lanes);

}  // namespace caesura::base
