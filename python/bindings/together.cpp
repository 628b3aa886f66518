// Plans for many small checkpoints: plain numbers in and out.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "bindings.hpp"
#include "plan/horizon.hpp"

namespace caesura::python {
namespace {

/// word, end of the flush in s, end of the application in s, exact
using Plan = std::tuple<std::string, double, double, bool>;

plan::CheckpointProfile profile_of(std::uint64_t checkpoint_bytes, std::vector<double> intervals_s,
                                   std::vector<std::uint64_t> compressed_bytes,
                                   const std::vector<std::pair<double, double>>& curve,
                                   double link_bytes_per_s, std::uint64_t cache_bytes,
                                   std::uint64_t header_bytes, double copy_bytes_per_s) {
    plan::CheckpointProfile profile;
    profile.checkpoint_bytes = checkpoint_bytes;
    profile.intervals_s = std::move(intervals_s);
    profile.compressed_bytes = std::move(compressed_bytes);
    for (const auto& [bytes, seconds] : curve) profile.compress_curve.push_back({bytes, seconds});
    profile.link_bytes_per_s = link_bytes_per_s;
    profile.cache_bytes = cache_bytes;
    profile.header_bytes = header_bytes;
    profile.copy_bytes_per_s = copy_bytes_per_s;
    return profile;
}

Plan plan_of(Result<plan::TogetherPlan>&& made) {
    plan::TogetherPlan plan = value_or_raise(std::move(made));
    return {std::move(plan.word), plan.flush_end_s, plan.application_end_s, plan.exact};
}

}  // namespace

void bind_together(nb::module_& module) {
    nb::class_<plan::CheckpointProfile>(module, "CheckpointProfile");
    module.def("checkpoint_profile", &profile_of, nb::kw_only(), nb::arg("checkpoint_bytes"),
               nb::arg("intervals_s"), nb::arg("compressed_bytes"), nb::arg("compress_curve"),
               nb::arg("link_bytes_per_s"), nb::arg("cache_bytes"), nb::arg("header_bytes"),
               nb::arg("copy_bytes_per_s"));
    module.def(
        "together",
        [](const plan::CheckpointProfile& profile, std::size_t states, bool application_done) {
            const auto goal = application_done ? plan::Goal::application_done : plan::Goal::at_host;
            double plan_s = 0.0;
            auto made = [&] {
                nb::gil_scoped_release free;  // seconds, for ten thousand checkpoints
                const auto begin = std::chrono::steady_clock::now();
                auto result = plan::together(profile, {}, states, goal);
                plan_s =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
                return result;
            }();
            return std::pair{plan_of(std::move(made)), plan_s};
        },
        nb::arg("profile"), nb::arg("states"), nb::arg("application_done"));
    module.def(
        "play_together",
        [](const plan::CheckpointProfile& profile, const std::string& word) {
            return plan_of(plan::play(profile, word));
        },
        nb::arg("profile"), nb::arg("word"));
    module.def(
        "play_planner",
        [](const plan::CheckpointProfile& profile, const plan::CheckpointProfile& expected,
           std::size_t checkpoints) {
            plan::HorizonPlanner planner =
                value_or_raise(plan::HorizonPlanner::create(expected, checkpoints));
            return std::pair{plan_of(plan::play_planner(profile, planner)), planner.plans()};
        },
        nb::arg("profile"), nb::arg("expected"), nb::arg("checkpoints"));
    module.def("checkpoint_profile_json",
               [](const plan::CheckpointProfile& profile) { return plan::to_json(profile); });
    module.def("send_all_raw", [](const plan::CheckpointProfile& profile) {
        return plan_of(plan::send_all_raw(profile));
    });
    module.def("compress_each", [](const plan::CheckpointProfile& profile) {
        return plan_of(plan::compress_each(profile));
    });
}

}  // namespace caesura::python
