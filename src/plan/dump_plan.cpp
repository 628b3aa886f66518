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
    const double rate =
        std::max(1e-3, own_core ? std::min(view.rates.free, view.rates.busy) : view.rates.free);
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
    occupy(obstacles.compress, view.compress_ahead_s / rate);
    occupy(obstacles.write, view.write_ahead_s);
    const auto schedule = schedule_of(view, jobs, obstacles);
    if (!schedule.ok()) return schedule.status();

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
