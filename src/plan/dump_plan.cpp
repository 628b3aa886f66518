#include "plan/dump_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace caesura::plan {
namespace {

// A worker that gets this much of a core while the application computes has one of its own.
constexpr double k_own_core = 0.5;
// A robust plan's candidates are run in many worlds. Of thousands of blocks that takes many times
// as long as the search, and each is so little of a gap that its spread hardly matters.
constexpr std::size_t k_most_robust_jobs = 1000;

// What is to come of the obstacles, since now.
std::vector<Interval> from_now(std::span<const Interval> obstacles, double now_s) {
    std::vector<Interval> out;
    for (const Interval& o : obstacles) {
        const double begin_s =
            std::max({0.0, o.begin_s - now_s, out.empty() ? 0.0 : out.back().end_s});
        if (o.end_s - now_s > begin_s) out.push_back({begin_s, o.end_s - now_s});
    }
    return out;
}

// The lane works on something else first: so much of its time is an obstacle.
void occupy(std::vector<Interval>& obstacles, double seconds) {
    if (!(seconds > 0.0)) return;
    const Interval busy{0.0, busy_until_s(obstacles, seconds)};
    std::erase_if(obstacles, [&](const Interval& o) { return o.end_s <= busy.end_s; });
    obstacles.insert(obstacles.begin(), busy);
}

// Tasks that take no time go before the one that begins where they are.
std::vector<std::uint32_t> order_by(std::span<const double> begin_s, std::span<const double> end_s,
                                    std::span<const std::uint32_t> index) {
    std::vector<std::uint32_t> rank(index.size());
    std::iota(rank.begin(), rank.end(), 0u);
    std::stable_sort(rank.begin(), rank.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(begin_s[a], end_s[a]) < std::pair(begin_s[b], end_s[b]);
    });
    for (std::uint32_t& r : rank) r = index[r];
    return rank;
}

// The part of [begin_s, end_s) that lies outside all obstacles.
double free_s(std::span<const Interval> obstacles, double begin_s, double end_s) {
    double sum_s = std::max(0.0, end_s - begin_s);
    for (const Interval& o : obstacles)
        sum_s -= std::max(0.0, std::min(o.end_s, end_s) - std::max(o.begin_s, begin_s));
    return sum_s;
}

// CPU seconds a second of the compress lane, while the application computes and while it does not.
struct Speeds {
    double inside = 0.0, outside = 1.0;
};

// With the standby thread. Where the workers share the application's core, so does it: together
// they get no more than one.
Speeds speeds_with_standby(const PlanningView& view, double rate, bool own_core) {
    const double share = view.standby.share;
    if (own_core) return {rate + share, rate + share};
    return {share, std::max(rate, std::min(1.0, rate + share))};
}

// When the lane has done `cpu_s` from `at_s` on.
double worked_until_s(std::span<const Interval> obstacles, const Speeds& speeds, double at_s,
                      double cpu_s) {
    const auto passes = [&](double end_s, double speed) {
        const double done_s = std::max(0.0, end_s - at_s) * speed;
        if (cpu_s <= done_s) return false;
        cpu_s -= done_s;
        at_s = std::max(at_s, end_s);
        return true;
    };
    if (!(cpu_s > 0.0)) return at_s;
    for (const Interval& o : obstacles) {
        if (o.end_s <= at_s) continue;
        if (!passes(o.begin_s, speeds.outside)) return at_s + cpu_s / speeds.outside;
        if (!passes(o.end_s, speeds.inside)) return at_s + cpu_s / speeds.inside;
    }
    return at_s + cpu_s / speeds.outside;
}

std::vector<std::uint32_t> sorted_by(std::span<const double> begin_s,
                                     std::span<const double> end_s) {
    std::vector<std::uint32_t> all(begin_s.size());
    std::iota(all.begin(), all.end(), 0u);
    return order_by(begin_s, end_s, all);
}

// What the lanes do otherwise than in `plan` from `from_s` on, when the standby thread begins.
// @param jobs, rate, obstacles  those of the plan: without the dumps before it.
void hasten(const PlanningView& view, double from_s, const Speeds& speeds,
            std::span<const Job> jobs, double rate, const Obstacles& obstacles, Schedule& plan) {
    const auto lane = std::span(obstacles.compress);
    double at_s = worked_until_s(lane, speeds, from_s,
                                 view.compress_ahead_s - rate * free_s(lane, 0.0, from_s));
    for (const std::uint32_t k : sorted_by(plan.compress_begin_s, plan.compress_end_s)) {
        if (plan.compress_end_s[k] <= from_s) continue;
        double cpu_s = rate * jobs[k].compress_s;
        if (plan.compress_begin_s[k] < from_s)
            cpu_s -= rate * free_s(lane, plan.compress_begin_s[k], from_s);
        else
            plan.compress_begin_s[k] = at_s;
        at_s = plan.compress_end_s[k] = worked_until_s(lane, speeds, at_s, cpu_s);
    }
    // A write that runs goes on; of those to come the lane takes what is ready.
    at_s = from_s + std::max(0.0, view.write_ahead_s - free_s(obstacles.write, 0.0, from_s));
    plan.end_s = 0.0;
    std::vector<double> ready_s = plan.compress_end_s;
    std::vector<std::uint32_t> rest;
    for (const std::uint32_t k : sorted_by(plan.write_begin_s, plan.write_begin_s)) {
        const double end_s = plan.write_begin_s[k] + jobs[k].write_s;
        ready_s[k] = std::max(ready_s[k], from_s);
        if (plan.write_begin_s[k] >= from_s) {
            rest.push_back(k);
            continue;
        }
        plan.end_s = std::max(plan.end_s, end_s);
        at_s = std::max(at_s, end_s);
    }
    std::stable_sort(rest.begin(), rest.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ready_s[a] < ready_s[b]; });
    for (const std::uint32_t k : rest) {
        plan.write_begin_s[k] = std::max(at_s, plan.compress_end_s[k]);
        plan.end_s = at_s = plan.write_begin_s[k] + jobs[k].write_s;
    }
}

// An iteration ends no earlier for lanes that are done long before it: S0 counts the later of the
// two. Where the quick plan leaves a quarter of what is left of the iteration, room enough for what
// turns out otherwise, no search is worth its time.
Result<Schedule> schedule_of(const PlanningView& view, std::span<const Job> jobs,
                             const Obstacles& obstacles) {
    constexpr double k_ample = 0.75;
    const Expectation& next = view.expected;
    const double rest_s = next.begin_s + next.length_s + next.late_s - view.now_s;
    if (view.algorithm == Algorithm::search && next.length_s > 0.0) {
        auto quick = schedule(Algorithm::ext_johnson_backfill, jobs, obstacles, view.rules);
        if (!quick.ok() || quick->end_s <= k_ample * rest_s) return quick;
    }
    Rules rules = view.rules;
    rules.robust = rules.robust && jobs.size() <= k_most_robust_jobs;
    return schedule(view.algorithm, jobs, obstacles, rules);
}

}  // namespace

double scale_of(double took_s, double expected_s) {
    constexpr double k_most = 8.0;  // beyond that the expectation was no such thing
    if (!(expected_s > 0.0)) return 1.0;
    return std::clamp(took_s / expected_s, 1.0 / k_most, k_most);
}

double square_after(double square, double took_s, double expected_s) {
    constexpr double k_new = 1.0 / 16;  // weight of one task
    if (!(expected_s > 0.0)) return square;
    const double off = std::clamp(took_s / expected_s - 1.0, -1.0, 1.0);
    return (1.0 - k_new) * square + k_new * off * off;
}

double busy_until_s(std::span<const Interval> obstacles, double seconds) {
    double at_s = 0.0;
    for (const Interval& o : obstacles) {
        if (at_s + seconds <= o.begin_s) break;
        seconds -= std::max(0.0, o.begin_s - at_s);
        at_s = std::max(at_s, o.end_s);
    }
    return at_s + seconds;
}

Status make_plan(const PlanningView& view, DumpPlan& plan) {
    const bool own_core = view.rates.busy > k_own_core;
    double rate =
        std::max(1e-3, own_core ? std::min(view.rates.free, view.rates.busy) : view.rates.free);
    const Speeds speeds = speeds_with_standby(view, rate, own_core);
    const double standby_s = std::max(0.0, view.standby.begin_s - view.now_s);
    if (standby_s <= 0.0) rate = speeds.inside;
    std::vector<Job> jobs;
    std::vector<std::uint32_t> left, done;
    for (std::uint32_t i = 0; i < view.jobs.size(); ++i) {
        const JobLeft& job = view.jobs[i];
        (job.written ? done : left).push_back(i);
        if (!job.written)
            jobs.push_back({job.compress_s / rate, job.write_s, job.compress_spread_s / rate,
                            job.write_spread_s});
    }
    Obstacles obstacles;
    if (!own_core) obstacles.compress = from_now(view.expected.obstacles.compress, view.now_s);
    obstacles.write = from_now(view.expected.obstacles.write, view.now_s);
    obstacles.spread_s = view.expected.obstacles.spread_s;
    const Obstacles of_application = obstacles;
    if (standby_s <= 0.0) obstacles.compress = obstacles.write = {};  // it is there
    occupy(obstacles.compress, view.compress_ahead_s / rate);
    occupy(obstacles.write, view.write_ahead_s);
    auto schedule = schedule_of(view, jobs, obstacles);
    if (!schedule.ok()) return schedule.status();
    if (schedule->end_s > standby_s)
        hasten(view, standby_s, speeds, jobs, rate, of_application, *schedule);

    std::vector<double> write_end_s = schedule->write_begin_s;
    for (std::size_t k = 0; k < left.size(); ++k) write_end_s[k] += jobs[k].write_s;
    const auto fill = [&](std::span<const double> begin_s, std::span<const double> end_s,
                          std::vector<std::uint32_t>& order) {
        const auto first = order_by(begin_s, end_s, left);
        std::copy(done.begin(), done.end(), std::copy(first.begin(), first.end(), order.begin()));
    };
    fill(schedule->compress_begin_s, schedule->compress_end_s, plan.compress_order);
    fill(schedule->write_begin_s, write_end_s, plan.write_order);
    for (const std::uint32_t i : done) plan.times[i] = {};
    for (std::size_t k = 0; k < left.size(); ++k)
        plan.times[left[k]] = {
            view.now_s + schedule->compress_begin_s[k], view.now_s + schedule->compress_end_s[k],
            view.now_s + schedule->write_begin_s[k], view.now_s + write_end_s[k], true};
    plan.made_s = view.now_s;
    plan.end_s = view.now_s + schedule->end_s;
    plan.iteration_begin_s = view.expected.begin_s;
    plan.iteration_s = view.expected.length_s;
    plan.kind = view.expected.kind;
    plan.slip_s = view.expected.slip_s;
    return {};
}

namespace {

// A tenth of what was planned, and never less than a few milliseconds: below it another plan would
// not be another one.
double tolerance_s(const DumpPlan& plan) {
    return std::max(5e-3, 0.1 * (plan.end_s - plan.made_s));
}

}  // namespace

bool departed(const DumpPlan& plan, double off_s) { return std::abs(off_s) > tolerance_s(plan); }

bool departed(const DumpPlan& plan, const Expectation& expected) {
    return expected.kind != plan.kind || departed(plan, expected.slip_s - plan.slip_s);
}

}  // namespace caesura::plan
