// The planner, for notebooks and tests: plain numbers in and out.
#include "caesura/plan.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace caesura::python {

namespace {
using Pair = std::pair<double, double>;

std::vector<plan::Interval> to_intervals(const std::vector<Pair>& pairs) {
    std::vector<plan::Interval> intervals;
    for (const auto& [begin_s, end_s] : pairs) intervals.push_back({begin_s, end_s});
    return intervals;
}

nb::dict schedule(const std::vector<Pair>& jobs, const std::vector<Pair>& compress_obstacles,
                  const std::vector<Pair>& write_obstacles, const std::string& algorithm) {
    std::vector<plan::Job> plain_jobs;
    for (const auto& [compress_s, write_s] : jobs) plain_jobs.push_back({compress_s, write_s});
    const plan::Obstacles obstacles{to_intervals(compress_obstacles),
                                    to_intervals(write_obstacles)};
    const auto result =
        value_or_raise(plan::schedule(to_algorithm(algorithm), plain_jobs, obstacles));
    nb::dict out;
    out["compress_begin_s"] = nb::cast(result.compress_begin_s);
    out["write_begin_s"] = nb::cast(result.write_begin_s);
    out["end_s"] = result.end_s;
    return out;
}
}  // namespace

plan::Algorithm to_algorithm(const std::string& name) {
    return value_or_raise(plan::algorithm_named(name));
}

void bind_plan(nb::module_& module) {
    module.def("schedule", &schedule, nb::arg("jobs"), nb::arg("compress_obstacles"),
               nb::arg("write_obstacles"), nb::arg("algorithm"));
}

}  // namespace caesura::python
