#include "planners/planners.hpp"

#include <fmt/format.h>

#include "planners/frontier.hpp"
#include "planners/greedy.hpp"

namespace caesura::lab {
namespace {

plan::Schedule append(const plan::Order& order, std::span<const plan::Job> jobs,
                      const plan::Obstacles& obstacles, bool resumable) {
    const Frontier write(obstacles.write);
    if (resumable) return plan::place_all(order, jobs, plan::Resuming(obstacles.compress), write);
    return plan::place_all(order, jobs, Frontier(obstacles.compress), write);
}

}  // namespace

Status check_name(std::string_view algorithm) {
    std::string known = "default";
    if (algorithm == known) return {};
    for (const std::string_view name : k_algorithms) {
        if (algorithm == name) return {};
        known += fmt::format(", {}", name);
    }
    return {StatusCode::invalid_argument,
            fmt::format("algorithm is '{}'; use one of {}", algorithm, known)};
}

Result<plan::Schedule> schedule(std::string_view algorithm, std::span<const plan::Job> jobs,
                                const plan::Obstacles& obstacles, const plan::Rules& rules) {
    if (Status status = check_name(algorithm); !status.ok()) return status;
    const auto of_product = plan::algorithm_named(algorithm);
    if (of_product.ok()) return plan::schedule(*of_product, jobs, obstacles, rules);
    if (Status status = plan::validate(jobs, obstacles); !status.ok()) return status;
    if (algorithm == "one_list_greedy") return one_list_greedy(jobs, obstacles, rules.resumable);
    if (algorithm == "two_lists_greedy") return two_lists_greedy(jobs, obstacles, rules.resumable);
    const plan::Order order = algorithm == "ext_johnson" ? plan::johnson_order(jobs)
                              : algorithm == "insertion" ? plan::insertion_order(jobs)
                                                         : plan::generation_order(jobs.size());
    return append(order, jobs, obstacles, rules.resumable);
}

}  // namespace caesura::lab
