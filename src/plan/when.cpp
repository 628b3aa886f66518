// When: the order of the jobs and the begin of every task, around the application's obstacles.
//
// Invariants:
//  - A schedule is an order of the jobs plus a rule for placing one task; both are deterministic.
//  - Both tasks of a job are placed before the next job is looked at, and are never moved again.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "plan/intervals.hpp"

namespace caesura::plan {
namespace {

std::vector<std::size_t> generation_order(std::size_t n_jobs) {
    std::vector<std::size_t> order(n_jobs);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

// First the jobs that compress no longer than they write, by increasing compression; then the
// others, by decreasing write. Optimal for two machines without obstacles (Johnson 1954).
// Source: S0 §3.3.1. Differs: ties broken by job index, so that every rank and run agrees.
std::vector<std::size_t> johnson_order(std::span<const Job> jobs) {
    std::vector<std::size_t> order = generation_order(jobs.size());
    const auto before = [&](std::size_t a, std::size_t b) {
        const bool a_first_set = jobs[a].compress_s <= jobs[a].write_s;
        const bool b_first_set = jobs[b].compress_s <= jobs[b].write_s;
        if (a_first_set != b_first_set) return a_first_set;
        if (a_first_set) return jobs[a].compress_s < jobs[b].compress_s;
        return jobs[a].write_s > jobs[b].write_s;
    };
    std::stable_sort(order.begin(), order.end(), before);
    return order;
}

// `Lane` is Frontier or Gaps: where the next task of one lane goes.
template <class Lane>
Schedule place_all(std::span<const std::size_t> order, std::span<const Job> jobs, Lane compress,
                   Lane write) {
    Schedule result;
    result.compress_begin_s.resize(jobs.size());
    result.write_begin_s.resize(jobs.size());
    for (const std::size_t j : order) {
        const double compress_begin_s = compress.place(0.0, jobs[j].compress_s);
        const double ready_s = compress_begin_s + jobs[j].compress_s;
        const double write_begin_s = write.place(ready_s, jobs[j].write_s);
        result.compress_begin_s[j] = compress_begin_s;
        result.write_begin_s[j] = write_begin_s;
        result.end_s = std::max(result.end_s, write_begin_s + jobs[j].write_s);
    }
    return result;
}

Status validate_lane(std::string_view lane, std::span<const Interval> obstacles) {
    const Interval* previous = nullptr;  // the last one that holds time
    for (std::size_t i = 0; i < obstacles.size(); ++i) {
        const Interval& o = obstacles[i];
        const auto name = [&] {
            return fmt::format("obstacle {} of the {} lane [{}, {}) s", i, lane, o.begin_s,
                               o.end_s);
        };
        if (!std::isfinite(o.begin_s) || !std::isfinite(o.end_s) || o.end_s < o.begin_s)
            return {StatusCode::invalid_argument,
                    name() + " must be finite and must not end before it begins"};
        if (i > 0 && o.begin_s < obstacles[i - 1].begin_s)
            return {StatusCode::invalid_argument,
                    fmt::format("{} begins before obstacle {} ({} s); sort obstacles by begin",
                                name(), i - 1, obstacles[i - 1].begin_s)};
        if (is_empty(o)) continue;
        if (previous != nullptr && o.begin_s < previous->end_s)
            return {StatusCode::invalid_argument,
                    fmt::format("{} overlaps the one before it [{}, {}) s; merge them", name(),
                                previous->begin_s, previous->end_s)};
        previous = &o;
    }
    return {};
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::ext_johnson:
            return "ext_johnson";
        case Algorithm::ext_johnson_backfill:
            return "ext_johnson_backfill";
        case Algorithm::generation_list:
            return "generation_list";
        case Algorithm::generation_list_backfill:
            return "generation_list_backfill";
        case Algorithm::insertion:
            return "insertion";
        case Algorithm::insertion_backfill:
            return "insertion_backfill";
    }
    return "unknown";
}

Result<Algorithm> algorithm_named(std::string_view name) {
    std::string known;
    for (const Algorithm algorithm : k_algorithms) {
        if (name == to_string(algorithm)) return algorithm;
        known += (known.empty() ? "" : ", ") + std::string(to_string(algorithm));
    }
    return Status(StatusCode::invalid_argument,
                  fmt::format("algorithm is '{}'; use one of {}", name, known));
}

Status validate(std::span<const Job> jobs, const Obstacles& obstacles) {
    double total_s = 0.0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const auto& [task, duration_s] :
             {std::pair{"compress_s", jobs[j].compress_s}, std::pair{"write_s", jobs[j].write_s}}) {
            if (!std::isfinite(duration_s) || duration_s < 0.0)
                return {StatusCode::invalid_argument,
                        fmt::format("{} of job {} is {}; durations must be finite and >= 0", task,
                                    j, duration_s)};
            total_s += duration_s;
        }
    }
    if (Status s = validate_lane("compress", obstacles.compress); !s.ok()) return s;
    if (Status s = validate_lane("write", obstacles.write); !s.ok()) return s;
    // No task begins later than this sum, so every time computed from here on is finite.
    double last_obstacle_s = 0.0;
    for (const auto* lane : {&obstacles.compress, &obstacles.write})
        for (const Interval& o : *lane) last_obstacle_s = std::max(last_obstacle_s, o.end_s);
    total_s += last_obstacle_s;
    if (!std::isfinite(total_s))
        return {StatusCode::invalid_argument,
                "the durations and obstacles together exceed the range of double; are they in s?"};
    return {};
}

Result<Schedule> schedule(Algorithm algorithm, std::span<const Job> jobs,
                          const Obstacles& obstacles) {
    if (Status status = validate(jobs, obstacles); !status.ok()) return status;
    std::vector<std::size_t> order;
    bool backfill = false;
    switch (algorithm) {
        case Algorithm::ext_johnson_backfill:
            backfill = true;
            [[fallthrough]];
        case Algorithm::ext_johnson:
            order = johnson_order(jobs);
            break;
        case Algorithm::generation_list_backfill:
            backfill = true;
            [[fallthrough]];
        case Algorithm::generation_list:
            order = generation_order(jobs.size());
            break;
        case Algorithm::insertion_backfill:
            backfill = true;
            [[fallthrough]];
        case Algorithm::insertion:
            order = insertion_order(jobs);
            break;
        default:
            return Status(StatusCode::invalid_argument,
                          fmt::format("no planning algorithm has the number {}",
                                      static_cast<int>(algorithm)));
    }
    if (backfill)
        return place_all(order, jobs, Gaps(obstacles.compress, jobs.size()),
                         Gaps(obstacles.write, jobs.size()));
    return place_all(order, jobs, Frontier(obstacles.compress), Frontier(obstacles.write));
}

}  // namespace caesura::plan
