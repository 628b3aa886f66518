// The lab's planners: the dictionary of a schedule, as the product's module gives it.
#include "planners/planners.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "plans.hpp"

namespace caesura::python {

namespace {
nb::dict schedule(const Pairs& pairs, const Pairs& compress_obstacles, const Pairs& write_obstacles,
                  const std::string& algorithm, bool resumable) {
    const std::vector<plan::Job> jobs = to_jobs(pairs);
    const plan::Obstacles obstacles = to_obstacles(compress_obstacles, write_obstacles);
    plan::Rules rules;
    rules.resumable = resumable;
    return timed([&] { return lab::schedule(algorithm, jobs, obstacles, rules); });
}
}  // namespace

void bind_planners(nb::module_& module) {
    nb::list names;
    for (const std::string_view name : lab::k_algorithms) names.append(std::string(name));
    module.attr("ALGORITHMS") = nb::tuple(names);
    module.def("schedule", &schedule, nb::arg("jobs"), nb::kw_only(), nb::arg("compress_obstacles"),
               nb::arg("write_obstacles"), nb::arg("algorithm"), nb::arg("resumable"));
}

}  // namespace caesura::python
