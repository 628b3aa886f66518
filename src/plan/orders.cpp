#include "plan/orders.hpp"

#include <numeric>

namespace caesura::plan {
namespace {

// `Compress` and `Write` are where the next task of a lane goes: Frontier, Gaps or Resuming.
template <class Compress, class Write>
Schedule place_all(const Order& order, std::span<const Job> jobs, Compress compress, Write write) {
    Schedule result;
    result.compress_begin_s.resize(jobs.size());
    result.compress_end_s.resize(jobs.size());
    result.write_begin_s.resize(jobs.size());
    for (const std::size_t j : order) {
        const Interval compressing = compress.place(0.0, jobs[j].compress_s);
        const Interval writing = write.place(compressing.end_s, jobs[j].write_s);
        result.compress_begin_s[j] = compressing.begin_s;
        result.compress_end_s[j] = compressing.end_s;
        result.write_begin_s[j] = writing.begin_s;
        result.end_s = std::max(result.end_s, writing.end_s);
    }
    return result;
}

}  // namespace

double least_s(std::span<const Job> jobs, double Job::*duration_s) {
    double least = jobs.empty() ? 0.0 : jobs[0].*duration_s;
    for (const Job& job : jobs) least = std::min(least, job.*duration_s);
    return least;
}

Order generation_order(std::size_t n_jobs) {
    Order order(n_jobs);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

Order johnson_order(std::span<const Job> jobs) {
    Order order = generation_order(jobs.size());
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

Schedule place(const Order& order, std::span<const Job> jobs, const Obstacles& obstacles,
               Placing placing, bool resumable) {
    const bool backfill = placing == Placing::backfill;
    const auto with = [&](auto compress) {
        if (backfill)
            return place_all(order, jobs, compress,
                             Gaps(obstacles.write, jobs.size(), least_s(jobs, &Job::write_s)));
        return place_all(order, jobs, compress, Frontier(obstacles.write));
    };
    if (resumable) return with(Resuming(obstacles.compress));
    if (!backfill) return with(Frontier(obstacles.compress));
    return with(Gaps(obstacles.compress, jobs.size(), least_s(jobs, &Job::compress_s)));
}

}  // namespace caesura::plan
