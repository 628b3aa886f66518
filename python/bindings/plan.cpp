// The planner, for notebooks, the command line and tests: plain numbers in and out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "plans.hpp"

namespace caesura::python {

namespace {
/// @param spreads  standard deviations of each job's two durations; empty: none are known.
std::vector<plan::Job> with_spreads(std::vector<plan::Job> jobs, const Pairs& spreads) {
    if (!spreads.empty() && spreads.size() != jobs.size())
        throw nb::value_error("spreads must be empty or have a pair for each job");
    for (std::size_t j = 0; j < spreads.size(); ++j) {
        jobs[j].compress_spread_s = spreads[j].first;
        jobs[j].write_spread_s = spreads[j].second;
    }
    return jobs;
}

nb::dict schedule(const Pairs& pairs, const Pairs& compress_obstacles, const Pairs& write_obstacles,
                  const std::string& name, bool resumable,
                  std::optional<std::uint64_t> search_steps, std::uint64_t seed, bool robust,
                  const Pairs& spreads, double obstacle_spread_s) {
    const plan::Algorithm algorithm = to_algorithm(name);
    const std::vector<plan::Job> jobs = with_spreads(to_jobs(pairs), spreads);
    plan::Obstacles obstacles = to_obstacles(compress_obstacles, write_obstacles);
    obstacles.spread_s = obstacle_spread_s;
    plan::Rules rules;
    rules.resumable = resumable;
    if (search_steps) rules.search_steps = *search_steps;
    rules.seed = seed;
    rules.robust = robust;
    return timed([&] { return plan::schedule(algorithm, jobs, obstacles, rules); });
}

void check(const std::vector<double>& compress_begin_s, const std::vector<double>& compress_end_s,
           const std::vector<double>& write_begin_s, double end_s, const Pairs& jobs,
           const Pairs& compress_obstacles, const Pairs& write_obstacles, bool resumable) {
    plan::Rules rules;
    rules.resumable = resumable;
    raise_if_error(plan::check({compress_begin_s, compress_end_s, write_begin_s, end_s},
                               to_jobs(jobs), to_obstacles(compress_obstacles, write_obstacles),
                               rules));
}

/// What becomes of a schedule's orders where durations and obstacles are the real ones.
/// Returns (end of the last write, by how much the application is held up), s.
Pair execute(const std::vector<double>& compress_begin_s, const std::vector<double>& compress_end_s,
             const std::vector<double>& write_begin_s, double end_s, const Pairs& expected,
             const Pairs& compress_obstacles, const Pairs& write_obstacles, const Pairs& real,
             const Pairs& real_compress_obstacles, const Pairs& real_write_obstacles,
             bool resumable) {
    plan::Rules rules;
    rules.resumable = resumable;
    const std::vector<plan::Job> jobs = to_jobs(expected);
    if (compress_begin_s.size() != jobs.size() || compress_end_s.size() != jobs.size() ||
        write_begin_s.size() != jobs.size())
        throw nb::value_error("the schedule is one of another number of jobs");
    const plan::Orders orders =
        plan::orders_of({compress_begin_s, compress_end_s, write_begin_s, end_s}, jobs);
    const plan::Execution done = value_or_raise(plan::execute(
        orders, jobs, to_obstacles(compress_obstacles, write_obstacles), to_jobs(real),
        to_obstacles(real_compress_obstacles, real_write_obstacles), rules));
    return {done.schedule.end_s, done.delay_s};
}

double lower_bound(const Pairs& jobs, const Pairs& compress_obstacles,
                   const Pairs& write_obstacles) {
    return value_or_raise(
        plan::lower_bound_s(to_jobs(jobs), to_obstacles(compress_obstacles, write_obstacles)));
}
}  // namespace

plan::Algorithm to_algorithm(const std::string& name) {
    return value_or_raise(plan::algorithm_named(name));
}

void bind_plan(nb::module_& module) {
    nb::list names;
    for (const plan::Algorithm algorithm : plan::k_algorithms)
        names.append(std::string(plan::to_string(algorithm)));
    module.attr("ALGORITHMS") = nb::tuple(names);
    module.attr("DEFAULT_ALGORITHM") = std::string(plan::to_string(plan::k_default_algorithm));
    module.attr("SEARCH_STEPS") = plan::Rules{}.search_steps;
    module.attr("SEARCH_STEPS_PER_MS") = plan::k_search_steps_per_ms;
    module.def("schedule", &schedule, nb::arg("jobs"), nb::kw_only(), nb::arg("compress_obstacles"),
               nb::arg("write_obstacles"), nb::arg("algorithm"), nb::arg("resumable"),
               nb::arg("search_steps").none(), nb::arg("seed"), nb::arg("robust"),
               nb::arg("spreads"), nb::arg("obstacle_spread_s"));
    module.def("execute", &execute, nb::kw_only(), nb::arg("compress_begin_s"),
               nb::arg("compress_end_s"), nb::arg("write_begin_s"), nb::arg("end_s"),
               nb::arg("expected"), nb::arg("compress_obstacles"), nb::arg("write_obstacles"),
               nb::arg("real"), nb::arg("real_compress_obstacles"), nb::arg("real_write_obstacles"),
               nb::arg("resumable"));
    module.def("check", &check, nb::kw_only(), nb::arg("compress_begin_s"),
               nb::arg("compress_end_s"), nb::arg("write_begin_s"), nb::arg("end_s"),
               nb::arg("jobs"), nb::arg("compress_obstacles"), nb::arg("write_obstacles"),
               nb::arg("resumable"));
    module.def("lower_bound", &lower_bound, nb::arg("jobs"), nb::arg("compress_obstacles"),
               nb::arg("write_obstacles"));
}

}  // namespace caesura::python
