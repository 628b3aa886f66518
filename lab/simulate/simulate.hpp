// A simulation of many ranks, their nodes and the file system they share, event by event.
//
// Invariants:
//  - Pure: a scenario and a mode give the same outcome on every machine and in every thread.
//  - All modes of a scenario meet the same noise: the same iteration of the same rank is as long in
//    each, the same block compresses as well. What differs is what the mode costs.
//  - Times are seconds, from the begin of the first iteration unless said otherwise.
#pragma once

#include <functional>

#include "plan/schedule.hpp"
#include "plan/who.hpp"

namespace caesura::simulate {

/// What an application does about its output.
enum class Mode {
    compute,          ///< nothing is written
    sync,             ///< raw, the application waits
    filter,           ///< compressed, then written, the application waits for both
    async,            ///< raw, in the background, regardless of what the application does
    caesura,          ///< compressed and written in the gaps, planned
    no_planning,      ///< the same at idle priority: what comes first goes first, writes at once
    normal_priority,  ///< the same, and a worker takes its share of the application's core
};
inline constexpr Mode k_modes[] = {
    Mode::compute, Mode::sync,        Mode::filter,          Mode::async,
    Mode::caesura, Mode::no_planning, Mode::normal_priority,
};
std::string_view to_string(Mode mode);
/// The mode of that name. Errors: invalid_argument, listing the names there are.
Result<Mode> mode_named(std::string_view name);

/// An iteration of a rank when nothing disturbs it: when the application needs its core
/// (`compress`) and when the network or the file system (`write`). Obstacles lie within [0,
/// iteration_s).
struct Pattern {
    double iteration_s = 1.0;
    plan::Obstacles obstacles;
};

/// One block of a rank's dump, the same in every dump but for noise.
struct Block {
    double raw_bytes = 0.0;
    double ratio = 1.0;        ///< raw over compressed bytes, >= 1
    double compress_s = -1.0;  ///< < 0: by the scenario's CompressSpeed
};

/// Bytes per s of compressing, over bits per value: S1-Eq1, clamped. min = max is a plain rate.
struct CompressSpeed {
    double min_bytes_per_s = 250e6, max_bytes_per_s = 250e6;
    double exponent = -1.716;
    double bits_per_raw_value = 32.0;
};

/// Bandwidth is shared by max-min fairness: no write gets more than its process, its node's share
/// and the system's share allow, and what one cannot use the others get.
struct Storage {
    double stream_bytes_per_s = 0.0;  ///< a process, 0: no limit
    double node_bytes_per_s = 0.0;    ///< a node, 0: no limit
    double system_bytes_per_s = 0.0;  ///< all nodes, 0: no limit
    double latency_s = 0.0;           ///< of each write, before its first byte
};

/// Standard deviations. The first four are S0 §5.4.1's and relative: what comes is normal around
/// what was predicted.
struct Noise {
    double interval_sigma = 0.01;  ///< ends of obstacles, of the iteration's length
    double ratio_sigma = 0.10;     ///< a block's ratio
    double compress_sigma = 0.05;  ///< a compression's throughput
    double write_sigma = 0.05;     ///< a write's throughput
    double block_sigma = 0.0;   ///< ln of ratios among a rank's blocks; predicted, not a surprise
    double jitter_sigma = 0.0;  ///< ln of a write's duration
    double contention_sigma = 0.0;     ///< ln of the system's bandwidth, as other jobs leave it
    double contention_period_s = 1.0;  ///< it is drawn anew so often
};

/// How the writer works; see WriterOptions.
struct Output {
    std::string algorithm = "search";  ///< one of lab::k_algorithms, or "default"
    std::uint64_t search_steps = 20'000;
    bool resumable = true;  ///< an obstacle suspends a compression; false: S0's rule
    plan::Balance balance = plan::Balance::best_move;  ///< light ranks write for heavy ones
    double balance_least_gain = 0.05;                  ///< see plan::BalanceRules
    bool write_in_order = false;  ///< only the next block in planned order, as plan::execute()
    double write_buffer_bytes = 20u << 20;
    double small_write_bytes = 1u << 20;  ///< a smaller write waits for company
    double patience_iterations = 1.0;     ///< a block that fits no gap waits so long
    int dumps_in_flight = 2;              ///< the application waits before it makes one more
    double snapshot_bytes_per_s = 0.0;    ///< copying a dump aside, 0: no time
    double collective_s = 0.0;            ///< of each dump, in the background modes
    /// A write's bytes go into the system so fast, on the rank's core and at normal priority, while
    /// the file system stores them. 0: no time.
    double copy_bytes_per_s = 0.0;
    double close_s = 0.0;  ///< closing the file when all is written, in the background modes
};

/// What the output library of Mode::sync and Mode::filter takes of the application's time besides
/// compressing and storing.
struct Library {
    /// What is written passes its buffers so fast, while the file system stores it. 0: no time.
    double bytes_per_s = 0.0;
    double dump_s = 0.0;   ///< of each dump: metadata, collective calls
    double close_s = 0.0;  ///< closing the file
};

/// What happens when both want the same resource.
struct Conflict {
    /// Mode::normal_priority: so much slower is the application while a worker shares its core; the
    /// worker has what is left. 1: it has a core of its own.
    double compute_slowdown = 2.0;
    /// So much slower is communication while this rank writes. Infinite: it waits (S0 §5.4.1).
    double communicate_slowdown = 2.0;
};

struct Scenario {
    std::uint32_t ranks = 1, ranks_per_node = 1;
    std::uint32_t iterations = 1;
    std::uint32_t dump_every = 1;       ///< iterations 0, k, 2k ... are dumped at their end,
    std::uint32_t tail_iterations = 1;  ///< but none of the last ones
    std::uint64_t seed = 1;
    /// Rank after rank, of each `patterns_per_rank` iterations; both modulo how many there are.
    std::vector<Pattern> patterns;
    std::uint32_t patterns_per_rank = 1;
    std::vector<std::vector<Block>>
        blocks;  ///< a rank's dump; rank r has entry r modulo their number
    /// Largest less smallest ratio among the ranks of a node, drawn normal around the blocks' own
    /// (S0 §5.2); blocks keep a ratio of at least 1.
    double ratio_spread = 0.0;
    CompressSpeed compress;
    Storage storage;
    Noise noise;
    Output output;
    Library library;
    Conflict conflict;
    std::uint32_t timeline_rank = 0xffffffffu;  ///< whose spans are wanted
};

/// Something that a rank did, or wanted to do.
struct Span {
    enum class Kind {
        host,
        communicate,
        compress,
        write,
        snapshot,
        wait,
        planned_compress,
        planned_write
    };
    Kind kind = Kind::host;
    double begin_s = 0.0, end_s = 0.0;
    std::uint32_t iteration = 0;  ///< the dump's, for compress and write
    std::uint32_t block = 0;      ///< the first of a gathered write
};
std::string_view to_string(Span::Kind kind);

struct Outcome {
    double wall_s = 0.0;              ///< all ranks have iterated and all is written
    std::vector<double> iteration_s;  ///< [iterations] of all ranks together
    double closing_s = 0.0;           ///< the last ranks' wait after the last iteration
    double wait_s = 0.0;              ///< mean of the ranks: in blocking output or for room
    double delay_s = 0.0;             ///< mean of the ranks: lost where both wanted one resource
    double dump_s = 0.0;  ///< mean: from the end of the dumped iteration to a rank's last write
    double slowest_dump_s = 0.0;  ///< the same of each dump's last rank, mean of the dumps
    double plan_error = 0.0;      ///< median of |end of a dump, real over planned - 1|, or 0
    double raw_bytes = 0.0, written_bytes = 0.0, compressed_bytes = 0.0;
    std::uint64_t writes = 0, foreign_writes = 0, events = 0, plans = 0;
    std::vector<Span> timeline;
};

/// Run a scenario in one mode.
///
/// @param progress  told the share that is done, after every iteration; false stops.
/// Errors: invalid_argument naming the setting, its value and what it may be; cancelled.
/// Calls: independent, pure, thread-safe. An event costs O(log ranks + ranks_per_node).
/// Source: S0 §5.4.1 for the noise. Assumes: ranks wait for each other after every iteration; one
/// compress and one write lane a rank; a node's ranks have cores of their own.
Result<Outcome> simulate(const Scenario& scenario, Mode mode,
                         const std::function<bool(double)>& progress = {});

/// Is this a scenario? Errors: invalid_argument naming setting and value.
Status validate(const Scenario& scenario);

}  // namespace caesura::simulate
