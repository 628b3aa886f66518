// Is a schedule legal? Written against the definition, not against the algorithms: whatever made
// the schedule, an illegal one is found here.
//
// Invariants:
//  - Exact comparisons only; a task occupies [begin, begin + duration) (see intervals.hpp).
#include <fmt/format.h>

#include <cmath>

#include "plan/intervals.hpp"

namespace caesura::plan {
namespace {

struct Party {  // what occupies a lane for a while: an obstacle or a job's task
    Interval time;
    bool is_obstacle;
    std::size_t index;
};

std::string describe(const Party& party) {
    return fmt::format("{} {} [{}, {}) s", party.is_obstacle ? "obstacle" : "job", party.index,
                       party.time.begin_s, party.time.end_s);
}

Status illegal(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

Status check_lane(std::string_view lane, std::span<const double> begins_s,
                  std::span<const Job> jobs, double Job::*duration_s,
                  std::span<const Interval> obstacles) {
    std::vector<Party> parties;
    parties.reserve(jobs.size() + obstacles.size());
    for (std::size_t i = 0; i < obstacles.size(); ++i)
        if (!is_empty(obstacles[i])) parties.push_back({obstacles[i], true, i});
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const double begin_s = begins_s[j];
        if (!std::isfinite(begin_s) || begin_s < 0.0)
            return illegal(
                fmt::format("job {} begins at {} s in the {} lane; begins must be "
                            "finite and >= 0",
                            j, begin_s, lane));
        parties.push_back({{begin_s, begin_s + jobs[j].*duration_s}, false, j});
    }
    // Sorted by begin, then end, a point comes before what starts on it, so any two parties that
    // share time leave a pair of neighbours of which the second begins before the first has ended.
    std::sort(parties.begin(), parties.end(), [](const Party& a, const Party& b) {
        return std::pair(a.time.begin_s, a.time.end_s) < std::pair(b.time.begin_s, b.time.end_s);
    });
    for (std::size_t i = 1; i < parties.size(); ++i)
        if (parties[i].time.begin_s < parties[i - 1].time.end_s)
            return illegal(fmt::format("in the {} lane {} overlaps {}", lane, describe(parties[i]),
                                       describe(parties[i - 1])));
    return {};
}

}  // namespace

Status check(const Schedule& schedule, std::span<const Job> jobs, const Obstacles& obstacles) {
    if (Status s = validate(jobs, obstacles); !s.ok()) return s;
    if (schedule.compress_begin_s.size() != jobs.size() ||
        schedule.write_begin_s.size() != jobs.size())
        return illegal(fmt::format("{} jobs, but {} compressions and {} writes are scheduled",
                                   jobs.size(), schedule.compress_begin_s.size(),
                                   schedule.write_begin_s.size()));
    if (Status s = check_lane("compress", schedule.compress_begin_s, jobs, &Job::compress_s,
                              obstacles.compress);
        !s.ok())
        return s;
    if (Status s =
            check_lane("write", schedule.write_begin_s, jobs, &Job::write_s, obstacles.write);
        !s.ok())
        return s;
    double end_s = 0.0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const double ready_s = schedule.compress_begin_s[j] + jobs[j].compress_s;
        if (schedule.write_begin_s[j] < ready_s)
            return illegal(
                fmt::format("job {} begins to write at {} s, before its compression "
                            "ends at {} s",
                            j, schedule.write_begin_s[j], ready_s));
        end_s = std::max(end_s, schedule.write_begin_s[j] + jobs[j].write_s);
    }
    if (schedule.end_s != end_s)
        return illegal(
            fmt::format("the schedule says it ends at {} s, but its last write ends at "
                        "{} s",
                        schedule.end_s, end_s));
    return {};
}

}  // namespace caesura::plan
