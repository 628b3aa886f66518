// Plans: when each compression and each write runs, around what the application needs.
//
// Invariants:
//  - Plain numbers in, plain numbers out; no clock, no thread, no I/O.
//  - Times are seconds from the begin of the iteration.
#pragma once

#include "caesura/plan.hpp"

namespace caesura::plan {

/// Half-open [begin_s, end_s).
struct Interval {
    double begin_s = 0.0;
    double end_s = 0.0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// One block: its compression, then its write. The spreads are standard deviations of what these
/// durations really turn out to be; only Rules::robust looks at them.
struct Job {
    double compress_s = 0.0;
    double write_s = 0.0;
    double compress_spread_s = 0.0;
    double write_spread_s = 0.0;
};

/// When the application needs each lane's resource; sorted by begin, disjoint.
struct Obstacles {
    std::vector<Interval> compress;
    std::vector<Interval> write;
    double spread_s = 0.0;  ///< standard deviation of each begin and end; for Rules::robust
};

/// Steps of Algorithm::search in a millisecond: measured, see docs/evidence/planning.md. Steps are
/// counted, not timed, so that a plan can be made again.
inline constexpr std::uint64_t k_search_steps_per_ms = 600'000;

/// What a plan has to keep to, and what making it may cost.
struct Rules {
    /// An obstacle of the compress lane suspends a compression, which goes on after it (a worker at
    /// idle priority, decision D5), instead of excluding it (S0: a task is never preempted).
    bool resumable = false;
    /// Algorithm::search: what it may cost; by default some 20 ms. 0: the best backfilled order as
    /// it is.
    std::uint64_t search_steps = 20 * k_search_steps_per_ms;
    std::uint64_t seed = 0;  ///< of Algorithm::search and of the scenarios
    /// Algorithm::search: shorten the mean end of execute() over worlds drawn from the spreads of
    /// jobs and obstacles, not the end that is due when everything lasts as expected. The schedule
    /// is what its orders give when everything does.
    bool robust = false;
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
/// Calls: independent, pure, thread-safe. For n jobs the lists cost O(n^2) at worst.
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

/// What of a plan is kept when durations turn out otherwise: who comes after whom in each lane.
struct Orders {
    std::vector<std::size_t> compress;  ///< [n_jobs] job indices
    std::vector<std::size_t> write;     ///< [n_jobs]
};
/// @param jobs  those the schedule was made for.
Orders orders_of(const Schedule& schedule, std::span<const Job> jobs);

/// What happens when orders meet reality.
struct Execution {
    Schedule schedule;     ///< begins and ends as they happened
    Obstacles obstacles;   ///< as they happened
    double delay_s = 0.0;  ///< how much later than without us the application ends
};

/// Run the orders in a world whose durations and obstacles are not those expected: what the
/// executor does, as a pure function.
///  - Each lane runs its tasks in its order, one at a time, each as early as the rules below allow;
///    a write begins only after its compression has ended.
///  - No task begins while the application is in an obstacle of its lane, nor if, lasting as
///    expected, it would run into the next expected obstacle. The k-th expected obstacle is the
///    k-th real one, expected to be as late as the last one that came; if it has not come by its
///    expected end it is forgotten.
///  - A task that is not done when an obstacle is due holds up the application: its clock, and so
///    all its obstacles in both lanes, stand still until that task has ended (S0 §5.4.1: both run
///    one after the other). A resumable compression is suspended instead.
/// The application's iteration then lasts max(its own length + delay_s, schedule.end_s).
/// If reality is as expected and the orders are those of a schedule() with these rules, the result
/// is that schedule (or ends earlier: tasks that take no time and share a moment have no order).
///
/// @param expected, expected_obstacles  what the lanes decide by.
/// @param real, real_obstacles          what happens, times on the application's own clock.
/// @return  Errors: invalid_argument (as schedule(); orders that are not permutations of the jobs;
///          other numbers of jobs).
/// Calls: independent, pure, thread-safe. O(n + k) time for n jobs and k obstacles.
Result<Execution> execute(const Orders& orders, std::span<const Job> expected,
                          const Obstacles& expected_obstacles, std::span<const Job> real,
                          const Obstacles& real_obstacles, const Rules& rules = {});

}  // namespace caesura::plan
