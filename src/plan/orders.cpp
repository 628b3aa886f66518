#include "plan/orders.hpp"

#include <numeric>

namespace caesura::plan {

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
               bool resumable) {
    const Gaps write(obstacles.write, jobs.size(), least_s(jobs, &Job::write_s));
    if (resumable) return place_all(order, jobs, Resuming(obstacles.compress), write);
    return place_all(order, jobs,
                     Gaps(obstacles.compress, jobs.size(), least_s(jobs, &Job::compress_s)), write);
}

}  // namespace caesura::plan
