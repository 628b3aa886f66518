// From what is left of a dump and what is expected of the application to orders for both lanes:
// pure functions over plain numbers.
#pragma once

#include <limits>

#include "plan/schedule.hpp"
#include "plan/standby_policy.hpp"

namespace caesura::plan {

/// What is to come of the application, seconds of the clock unless said otherwise.
struct Expectation {
    Obstacles obstacles;     ///< that are not over yet; of the iterations after it too
    double begin_s = 0.0;    ///< of the iteration that runs, or of the next one
    double length_s = 0.0;   ///< of that iteration; 0: nothing is known of its kind
    double late_s = 0.0;     ///< how late the application is; contained in the obstacles
    double slip_s = 0.0;     ///< the same, summed over all iterations
    std::uint64_t kind = 0;  ///< another number: another kind of iteration than was expected
};

/// When a job's tasks run, seconds of the clock.
struct TaskTimes {
    double compress_begin_s = 0.0, compress_end_s = 0.0;
    double write_begin_s = 0.0, write_end_s = 0.0;
    bool planned = false;  ///< false: it was done when the plan was made
};

/// The orders of one dump's jobs, and the times they were made for.
struct DumpPlan {
    std::vector<std::uint32_t> compress_order, write_order;  ///< [n_jobs] job indices
    std::vector<TaskTimes> times;                            ///< [n_jobs]
    double made_s = 0.0;             ///< by the clock; nothing is planned before it
    double end_s = 0.0;              ///< by the clock, of the last write
    double iteration_begin_s = 0.0;  ///< of the iteration it is made for
    double iteration_s = 0.0;        ///< its expected length; 0: nothing known
    std::uint64_t kind = 0;          ///< Expectation::kind it was made for
    double slip_s = 0.0;             ///< Expectation::slip_s it was made for

    void resize(std::size_t n_jobs) {
        compress_order.resize(n_jobs);
        write_order.resize(n_jobs);
        times.resize(n_jobs);
    }
};

/// A job as the planner sees it.
struct JobLeft {
    double compress_s = 0.0;  ///< CPU time still to spend; 0: compressed
    double write_s = 0.0;
    bool written = false;
    double compress_spread_s = 0.0, write_spread_s = 0.0;  ///< standard deviations
};

/// How fast compressions go on: CPU seconds a second, of all workers together.
struct CompressRates {
    double free = 1.0;  ///< while the application is not in a marked obstacle
    double busy = 0.0;  ///< while it is; near 1: the workers have cores of their own
};

/// A thread at normal priority that takes a dump over, so that it is written by the time that was
/// promised (standby_policy.hpp).
struct Standby {
    /// By the clock. From then on it compresses beside the workers, also while the application
    /// computes, and no write waits for an obstacle.
    double begin_s = std::numeric_limits<double>::infinity();
    double share = k_standby_share;  ///< of a core that it gets
};

struct PlanningView {
    double now_s = 0.0;  ///< by the clock
    std::span<const JobLeft> jobs;
    Expectation expected;
    double compress_ahead_s = 0.0, write_ahead_s = 0.0;  ///< of dumps before this one
    CompressRates rates;                                 ///< of the workers alone
    Standby standby;
    Algorithm algorithm = Algorithm::ext_johnson_backfill;
    Rules rules;
};

/// Fill `plan`, which has the size of as many jobs. Jobs that are written keep the last places.
/// What the workers will have done before the standby thread begins is planned as if there was
/// none. The rest is done in the planned order, at the share of a core that it gets on
/// top: so if it begins in time for half a core, the plan ends in time too.
/// Calls: pure but for `plan`; takes memory and gives it back on the calling thread.
/// Errors: as schedule(); the plan is then not to be used.
Status make_plan(const PlanningView& view, DumpPlan& plan);

/// Has reality departed from the plan by so much that the rest is worth planning again?
/// @param off_s  how much later (or, below 0, earlier) than planned a task has ended.
bool departed(const DumpPlan& plan, double off_s);
bool departed(const DumpPlan& plan, const Expectation& expected);

/// How much longer than expected tasks have taken so far; 1 while none is done.
double scale_of(double took_s, double expected_s);

/// The mean square of how far tasks are off what was expected of them, as a share of it, after one
/// more. One that is off by more than all of it was no such task and counts as if by all.
double square_after(double square, double took_s, double expected_s);

/// The moment when `seconds` of a lane's free time have passed, from 0 on.
double busy_until_s(std::span<const Interval> obstacles, double seconds);

}  // namespace caesura::plan
