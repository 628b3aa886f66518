// When: the order of the jobs and the begin of every task, around the application's obstacles.
//
// Invariants:
//  - A schedule is an order of the jobs plus a rule for placing one task; both are deterministic.
#include <fmt/format.h>

#include "plan/scenarios.hpp"

namespace caesura::plan {

std::string_view to_string(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::ext_johnson_backfill:
            return "ext_johnson_backfill";
        case Algorithm::generation_list_backfill:
            return "generation_list_backfill";
        case Algorithm::insertion_backfill:
            return "insertion_backfill";
        case Algorithm::search:
            return "search";
    }
    return "unknown";
}

Result<Algorithm> algorithm_named(std::string_view name) {
    if (name == "default") return k_default_algorithm;
    std::string known = "default";
    for (const Algorithm algorithm : k_algorithms) {
        if (name == to_string(algorithm)) return algorithm;
        known += ", " + std::string(to_string(algorithm));
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("algorithm is '{}'; use one of {}", name, known));
}

Result<Schedule> schedule(Algorithm algorithm, std::span<const Job> jobs,
                          const Obstacles& obstacles, const Rules& rules) {
    if (Status status = validate(jobs, obstacles); !status.ok()) return status;
    const auto list = [&](const Order& order) {
        return place(order, jobs, obstacles, rules.resumable);
    };
    switch (algorithm) {
        case Algorithm::ext_johnson_backfill:
            return list(johnson_order(jobs));
        case Algorithm::generation_list_backfill:
            return list(generation_order(jobs.size()));
        case Algorithm::insertion_backfill:
            return list(insertion_order(jobs));
        case Algorithm::search:
            if (rules.robust && has_spread(jobs, obstacles))
                return robust_schedule(jobs, obstacles, rules);
            return list(search_order(jobs, obstacles, rules));
    }
    return Status(
        StatusCode::invalid_argument,
        fmt::format("no planning algorithm has the number {}", static_cast<int>(algorithm)));
}

}  // namespace caesura::plan
