// Is a schedule legal? Written against the definition, not against the algorithms: whatever made
// the schedule, an illegal one is found here.
//
// Invariants:
//  - Exact comparisons only; a task occupies [begin, begin + duration) (see lanes.hpp).
#include <fmt/format.h>

#include <cmath>

#include "plan/lanes.hpp"

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

// @param times      what each job's task occupies. @param obstacles  what it must not touch.
Status check_lane(std::string_view lane, std::span<const Interval> times,
                  std::span<const Interval> obstacles) {
    std::vector<Party> parties;
    parties.reserve(times.size() + obstacles.size());
    for (std::size_t i = 0; i < obstacles.size(); ++i)
        if (!is_empty(obstacles[i])) parties.push_back({obstacles[i], true, i});
    for (std::size_t j = 0; j < times.size(); ++j) {
        const double begin_s = times[j].begin_s;
        if (!std::isfinite(begin_s) || begin_s < 0.0)
            return illegal(
                fmt::format("job {} begins at {} s in the {} lane; begins must be "
                            "finite and >= 0",
                            j, begin_s, lane));
        parties.push_back({times[j], false, j});
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

Status check(const Schedule& schedule, std::span<const Job> jobs, const Obstacles& obstacles,
             const Rules& rules) {
    if (Status s = validate(jobs, obstacles); !s.ok()) return s;
    const std::size_t n = jobs.size();
    if (schedule.compress_begin_s.size() != n || schedule.compress_end_s.size() != n ||
        schedule.write_begin_s.size() != n)
        return illegal(
            fmt::format("{} jobs, but {} compressions (of which {} end) and {} writes are "
                        "scheduled",
                        n, schedule.compress_begin_s.size(), schedule.compress_end_s.size(),
                        schedule.write_begin_s.size()));
    std::vector<Interval> compressions, writes;
    for (std::size_t j = 0; j < n; ++j) {
        const double compress_s = schedule.compress_begin_s[j], write_s = schedule.write_begin_s[j];
        std::size_t next = 0;
        compressions.push_back({compress_s, rules.resumable
                                                ? resumed_end_s(obstacles.compress, next,
                                                                compress_s, jobs[j].compress_s)
                                                : compress_s + jobs[j].compress_s});
        writes.push_back({write_s, write_s + jobs[j].write_s});
    }
    // A resumable compression has its obstacles inside its time: they bar nothing.
    const std::span<const Interval> barred =
        rules.resumable ? std::span<const Interval>() : std::span(obstacles.compress);
    if (Status s = check_lane("compress", compressions, barred); !s.ok()) return s;
    if (Status s = check_lane("write", writes, obstacles.write); !s.ok()) return s;
    double end_s = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
        const double ready_s = compressions[j].end_s;
        if (schedule.compress_end_s[j] != ready_s)
            return illegal(
                fmt::format("the schedule says that the compression of job {} ends at {} s, but "
                            "one that begins at {} s ends at {} s",
                            j, schedule.compress_end_s[j], compressions[j].begin_s, ready_s));
        if (writes[j].begin_s < ready_s)
            return illegal(
                fmt::format("job {} begins to write at {} s, before its compression "
                            "ends at {} s",
                            j, writes[j].begin_s, ready_s));
        end_s = std::max(end_s, writes[j].end_s);
    }
    if (schedule.end_s != end_s)
        return illegal(
            fmt::format("the schedule says it ends at {} s, but its last write ends at "
                        "{} s",
                        schedule.end_s, end_s));
    return {};
}

}  // namespace caesura::plan
