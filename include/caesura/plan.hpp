// Plans: when each compression and each write runs, around what the application needs.
//
// Invariants:
//  - Plain numbers in, plain numbers out; no clock, no thread, no I/O.
//  - Times are seconds from the begin of the iteration.
#pragma once

#include "caesura/base.hpp"

namespace caesura::plan {

/// Half-open [begin_s, end_s).
struct Interval {
    double begin_s = 0.0;
    double end_s = 0.0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// One block: its compression, then its write.
struct Job {
    double compress_s = 0.0;
    double write_s = 0.0;
};

/// When the application needs each lane's resource; sorted by begin, disjoint.
struct Obstacles {
    std::vector<Interval> compress;
    std::vector<Interval> write;
};

enum class Algorithm {
    ext_johnson,               ///< Johnson's order, each task after those placed before
    ext_johnson_backfill,      ///< same order, a task may fill an earlier gap
    generation_list,           ///< order of generation
    generation_list_backfill,  ///< order of generation, filling earlier gaps
    insertion,                 ///< S1's order, each task after those placed before
    insertion_backfill,        ///< S1's order, filling earlier gaps
    one_list_greedy,           ///< each job where one list for both lanes ends soonest
    two_lists_greedy,          ///< the same with a list of its own for each lane
    search,                    ///< the best of the backfilled orders, improved within a budget
};
inline constexpr Algorithm k_algorithms[] = {
    Algorithm::ext_johnson,     Algorithm::ext_johnson_backfill,
    Algorithm::generation_list, Algorithm::generation_list_backfill,
    Algorithm::insertion,       Algorithm::insertion_backfill,
    Algorithm::one_list_greedy, Algorithm::two_lists_greedy,
    Algorithm::search,
};
std::string_view to_string(Algorithm algorithm);
/// The algorithm of that name. Errors: invalid_argument, listing the names there are.
Result<Algorithm> algorithm_named(std::string_view name);

/// What a plan has to keep to, and what making it may cost.
struct Rules {
    /// An obstacle of the compress lane suspends a compression, which goes on after it (design D5:
    /// a worker at idle priority), instead of excluding it (S0: a task is never preempted).
    bool resumable = false;
    /// Algorithm::search: what it may cost, in steps of some 10 ns: the places looked at and taken.
    /// Counted, not timed, so that a plan can be made again. 0: the best backfilled order as it is.
    std::uint64_t search_steps = 2'000'000;
    std::uint64_t seed = 0;  ///< of Algorithm::search
};

struct Schedule {
    std::vector<double> compress_begin_s;  ///< [n_jobs]
    std::vector<double> compress_end_s;    ///< [n_jobs] with what suspends a resumable one
    std::vector<double> write_begin_s;     ///< [n_jobs]
    double end_s = 0.0;                    ///< end of the last write, 0 without jobs
};

/// Order and place all tasks so that the last write ends early; no task overlaps an obstacle.
///
/// @param jobs       [n_jobs] durations in s, finite and >= 0; n_jobs >= 0.
/// @param obstacles  see Obstacles.
/// @return  begin of every task. Errors: invalid_argument (negative or non-finite duration,
///          unsorted or overlapping obstacles), naming the index and the value.
/// Calls: independent, pure, thread-safe. For n jobs the lists cost O(n^2) at worst, the greedies
/// O(n^3) and O(n^4): they are S0's, for comparison.
/// Source: S0 §3.3; S1-Alg1 for the insertion orders; the search is ours. Differs: ties broken by
/// job index. Assumes: durations are exact; writes are never preempted.
Result<Schedule> schedule(Algorithm algorithm, std::span<const Job> jobs,
                          const Obstacles& obstacles, const Rules& rules = {});

/// No schedule, resumable or not, can end before this; 0 without jobs. O(n log n + n k).
/// Errors: as schedule().
Result<double> lower_bound_s(std::span<const Job> jobs, const Obstacles& obstacles);

/// The jobs' order by repeated insertion: each job, in order of generation, goes to the position of
/// the list that ends soonest were there no obstacles; of equal positions to the first.
///
/// @param jobs  [n_jobs] durations in s, finite and >= 0.
/// Calls: independent, pure, thread-safe. O(n^2) time, O(n) memory.
/// Source: S1-Alg1. Differs: corrected, and the time of a position is had in O(1); see
/// insertion.cpp. Assumes: no obstacles. Not optimal: Johnson's order is, and costs O(n log n).
std::vector<std::size_t> insertion_order(std::span<const Job> jobs);

/// Is the schedule legal: nothing overlaps in a lane, no task crosses an obstacle, every write
/// begins at or after the end of its compression, end_s is right? Errors: invalid_argument naming
/// the two parties and their times.
Status check(const Schedule& schedule, std::span<const Job> jobs, const Obstacles& obstacles,
             const Rules& rules = {});

}  // namespace caesura::plan
