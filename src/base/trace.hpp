// The trace: every task, obstacle and wait of a rank, as Chrome-trace JSON.
//
// Invariants:
//  - One TraceLane per thread, written by that thread alone. Any one thread at a time may read what
//    has been added so far: no lock, so that a worker at idle priority never holds up another
//    thread.
//  - Times are the Clock's seconds; the file holds microseconds since `origin_s`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caesura/base.hpp"

namespace caesura::base {

struct TraceEvent {
    const char* kind = "";  ///< "compress", "write", "sync", "obstacle", "wait", "plan", "commit",
                            ///< "planned_compress", "planned_write", "iteration", "put", "end",
                            ///< "pause" (the application waits, its core is free); what became
                            ///< of a dump: "written", "committed", and of each "block" of it
    std::string name;       ///< e.g. "temperature #3"
    double begin_s = 0.0;
    double end_s = 0.0;
    std::uint64_t iteration = 0;
    std::uint64_t bytes = 0;        ///< of the block or write; 0 where it has none
    std::uint64_t given_bytes = 0;  ///< of these: values for a service, which compresses them
    /// Whatever else its kind has to say; what is not finite is left out of the file.
    std::vector<std::pair<const char*, double>> numbers = {};
};

class TraceLane {
  public:
    explicit TraceLane(std::string name) : name_(std::move(name)) {}
    TraceLane(const TraceLane&) = delete;
    TraceLane& operator=(const TraceLane&) = delete;
    ~TraceLane();
    /// By the lane's own thread.
    void add(TraceEvent event);
    const std::string& name() const { return name_; }
    /// How many events may be read.
    std::size_t size() const { return size_.load(std::memory_order_acquire); }
    /// call(event) for those from number `first` to before `end`, which is at most size().
    template <class Call>
    void for_each(std::size_t first, std::size_t end, Call&& call) const {
        const Chunk* chunk = &first_;
        for (std::size_t begin = 0; begin < end; begin += k_chunk) {
            const std::size_t last = std::min(end, begin + k_chunk);
            for (std::size_t i = std::max(first, begin); i < last; ++i)
                call(chunk->events[i - begin]);
            // There only if there are events behind: `size_` was stored after it.
            if (begin + k_chunk < end) chunk = chunk->next.load(std::memory_order_relaxed);
        }
    }

  private:
    static constexpr std::size_t k_chunk = 64;
    struct Chunk {
        std::array<TraceEvent, k_chunk> events;
        std::atomic<Chunk*> next{nullptr};  // owned
    };
    std::string name_;
    Chunk first_;
    Chunk* last_ = &first_;
    std::atomic<std::size_t> size_{0};
};

/// Write lanes of one rank: "X" events with pid = rank, tid = lane number, args {iteration, bytes},
/// plus thread_name and process_name metadata. Opens in chrome://tracing and Perfetto.
/// Errors: io, no_space.
Status write_chrome_trace(const std::string& path, int rank, double origin_s,
                          const std::vector<const TraceLane*>& lanes);

/// The same file while the lanes go on: append() adds what came since the last call, as a JSON
/// array that is not closed, which those programs open too. One thread at a time.
class LiveTrace {
  public:
    LiveTrace(std::string path, int rank, double origin_s, std::vector<const TraceLane*> lanes)
        : path_(std::move(path)), rank_(rank), origin_s_(origin_s), lanes_(std::move(lanes)) {}
    /// Errors: io, no_space. What was not written comes with the next call.
    Status append();

  private:
    std::string path_;
    int rank_;
    double origin_s_;
    std::vector<const TraceLane*> lanes_;
    std::vector<std::size_t> written_;  // events of each lane; empty: the file is to be made
    std::uint64_t end_ = 0;             // of the file
};

}  // namespace caesura::base
