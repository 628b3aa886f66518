// What no schedule can beat.
//
// Invariants:
//  - The bound holds for resumable and other compressions, and for writes that may be suspended
//    too: a relaxation of every problem that schedule() solves.
#include <numeric>

#include "plan/lanes.hpp"

namespace caesura::plan {
namespace {

std::vector<double> sorted(std::span<const Job> jobs, double Job::*duration_s) {
    std::vector<double> durations;
    for (const Job& job : jobs) durations.push_back(job.*duration_s);
    std::sort(durations.begin(), durations.end());
    return durations;
}

// When `work_s` of lane time from `from_s` on is done, obstacles taken out.
double done_s(std::span<const Interval> obstacles, double from_s, double work_s) {
    std::size_t next = 0;
    return resumed_end_s(obstacles, next, from_s, work_s);
}

}  // namespace

// However the jobs are ordered, when the i-th compression ends at least the i shortest ones' time
// has passed in the lane, and only i - 1 jobs can have been written by then. So from that moment on
// at least the n - i + 1 shortest writes are to come. The best of these bounds over i.
// The same backwards: after the last compression has ended a write is to come.
Result<double> lower_bound_s(std::span<const Job> jobs, const Obstacles& obstacles) {
    if (Status status = validate(jobs, obstacles); !status.ok()) return status;
    if (jobs.empty()) return 0.0;
    const std::vector<double> compress_s = sorted(jobs, &Job::compress_s);
    const std::vector<double> write_s = sorted(jobs, &Job::write_s);
    // [i]: the i shortest writes.
    std::vector<double> shortest_s(jobs.size() + 1, 0.0);
    std::partial_sum(write_s.begin(), write_s.end(), shortest_s.begin() + 1);
    double bound_s = 0.0, compressed_s = 0.0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        compressed_s += compress_s[i];
        const double ready_s = done_s(obstacles.compress, 0.0, compressed_s);
        bound_s = std::max(bound_s, done_s(obstacles.write, ready_s, shortest_s[jobs.size() - i]));
    }
    // Sums of other orders round otherwise; a bound that is too high by a last place is none.
    return bound_s * (1.0 - 1e-12);
}

}  // namespace caesura::plan
