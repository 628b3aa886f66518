// Planning problems and plans as Python has them: for this module and for the lab's.
#pragma once

#include <nanobind/stl/vector.h>

#include <chrono>

#include "bindings.hpp"
#include "plan/schedule.hpp"

namespace caesura::python {

using Pair = std::pair<double, double>;
using Pairs = std::vector<Pair>;

inline std::vector<plan::Job> to_jobs(const Pairs& pairs) {
    std::vector<plan::Job> jobs;
    for (const auto& [compress_s, write_s] : pairs) {
        plan::Job job;
        job.compress_s = compress_s;
        job.write_s = write_s;
        jobs.push_back(job);
    }
    return jobs;
}

inline plan::Obstacles to_obstacles(const Pairs& compress, const Pairs& write) {
    plan::Obstacles obstacles;
    for (const auto& [begin_s, end_s] : compress) obstacles.compress.push_back({begin_s, end_s});
    for (const auto& [begin_s, end_s] : write) obstacles.write.push_back({begin_s, end_s});
    return obstacles;
}

/// What `make` makes, as a dictionary, and how long that took. Other threads run meanwhile: a
/// search takes tens of milliseconds.
template <class Make>
nb::dict timed(const Make& make) {
    double plan_s = 0.0;
    auto made = [&] {
        nb::gil_scoped_release free;
        const auto begin = std::chrono::steady_clock::now();
        auto result = make();
        plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return result;
    }();
    const plan::Schedule result = value_or_raise(std::move(made));
    nb::dict out;
    out["compress_begin_s"] = nb::cast(result.compress_begin_s);
    out["compress_end_s"] = nb::cast(result.compress_end_s);
    out["write_begin_s"] = nb::cast(result.write_begin_s);
    out["end_s"] = result.end_s;
    out["plan_s"] = plan_s;
    return out;
}

}  // namespace caesura::python
