// From what is left of a dump and what is expected of the application to orders for both lanes:
// pure functions over plain numbers.
#pragma once

#include <span>

#include "caesura/plan.hpp"
#include "run/observer.hpp"
#include "run/plans.hpp"

namespace caesura::run {

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

struct PlanningView {
    double now_s = 0.0;  ///< by the clock
    std::span<const JobLeft> jobs;
    Expectation expected;
    double compress_ahead_s = 0.0, write_ahead_s = 0.0;  ///< of dumps before this one
    CompressRates rates;
    plan::Algorithm algorithm = plan::Algorithm::ext_johnson_backfill;
    plan::Rules rules;
};

/// Fill `plan`, which is allocated for as many jobs. Jobs that are written keep the last places.
/// Calls: pure but for `plan`; takes memory and gives it back on the calling thread.
/// Errors: as plan::schedule(); the plan is then not to be used.
Status make_plan(const PlanningView& view, Plan& plan);

/// Has reality departed from the plan by so much that the rest is worth planning again?
/// @param off_s  how much later (or, below 0, earlier) than planned a task has ended.
bool departed(const Plan& plan, double off_s);
bool departed(const Plan& plan, const Expectation& expected);

/// How much longer than expected tasks have taken so far; 1 while none is done.
double scale_of(double took_s, double expected_s);

/// The mean square of how far tasks are off what was expected of them, as a share of it, after one
/// more. One that is off by more than all of it was no such task and counts as if by all.
double square_after(double square, double took_s, double expected_s);

/// The moment when `seconds` of a lane's free time have passed, from 0 on.
double busy_until_s(std::span<const plan::Interval> obstacles, double seconds);

}  // namespace caesura::run
