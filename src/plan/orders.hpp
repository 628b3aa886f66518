// Orders of jobs, and the one rule by which an order becomes a schedule.
//
// Invariants:
//  - An order is a permutation of the jobs; everything here is deterministic.
#pragma once

#include "plan/lanes.hpp"

namespace caesura::plan {

using Order = std::vector<std::size_t>;

/// 0, 1, 2, ...
Order generation_order(std::size_t n_jobs);

/// First the jobs that compress no longer than they write, by increasing compression; then the
/// others, by decreasing write. Optimal for two machines without obstacles (Johnson 1954).
/// Source: S0 §3.3.1. Differs: ties broken by job index, so that every rank and run agrees.
Order johnson_order(std::span<const Job> jobs);

/// What an order yields; both tasks of a job are placed before the next job is looked at, and are
/// never moved again. `Compress` and `Write` say where the next task of a lane goes, as Gaps does.
template <class Compress, class Write>
Schedule place_all(const Order& order, std::span<const Job> jobs, Compress compress, Write write) {
    Schedule result;
    result.compress_begin_s.resize(jobs.size());
    result.compress_end_s.resize(jobs.size());
    result.write_begin_s.resize(jobs.size());
    for (const std::size_t j : order) {
        const Interval compressing = compress.place(0.0, jobs[j].compress_s);
        const Interval writing = write.place(compressing.end_s, jobs[j].write_s);
        result.compress_begin_s[j] = compressing.begin_s;
        result.compress_end_s[j] = compressing.end_s;
        result.write_begin_s[j] = writing.begin_s;
        result.end_s = std::max(result.end_s, writing.end_s);
    }
    return result;
}
/// The same with every task in the earliest gap that holds it.
Schedule place(const Order& order, std::span<const Job> jobs, const Obstacles& obstacles,
               bool resumable);

/// The best of the backfilled orders, improved; see search.cpp.
Order search_order(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules);

/// The shortest of the jobs' durations of one lane, 0 without jobs.
double least_s(std::span<const Job> jobs, double Job::*duration_s);

}  // namespace caesura::plan
