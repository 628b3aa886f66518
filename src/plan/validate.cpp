// Are durations and obstacles what a plan can be made of?
#include <fmt/format.h>

#include <cmath>

#include "plan/lanes.hpp"

namespace caesura::plan {
namespace {

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

Status validate(std::span<const Job> jobs, const Obstacles& obstacles) {
    double total_s = 0.0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const auto& [task, duration_s] :
             {std::pair{"compress_s", jobs[j].compress_s}, std::pair{"write_s", jobs[j].write_s},
              std::pair{"compress_spread_s", jobs[j].compress_spread_s},
              std::pair{"write_spread_s", jobs[j].write_spread_s}}) {
            if (!std::isfinite(duration_s) || duration_s < 0.0)
                return {StatusCode::invalid_argument,
                        fmt::format("{} of job {} is {}; durations must be finite and >= 0", task,
                                    j, duration_s)};
            total_s += duration_s;
        }
    }
    if (!std::isfinite(obstacles.spread_s) || obstacles.spread_s < 0.0)
        return {StatusCode::invalid_argument,
                fmt::format("the spread of the obstacles is {} s; it must be finite and >= 0",
                            obstacles.spread_s)};
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

}  // namespace caesura::plan
