// S0's two greedy algorithms: every job, in order of generation, is tried at every position.
//
// Invariants:
//  - Of equal positions the first is kept.
//  - Every trial places all tasks anew, each after those before it in its list.
//
// For comparison: O(n^3) and O(n^4) for n jobs (the paper says n^2 and n^3, but each of its n^2 and
// n^3 trials takes time in proportion to n).
#include "planners/greedy.hpp"

#include "planners/frontier.hpp"

namespace caesura::lab {
namespace {

using plan::Interval, plan::Job, plan::Obstacles, plan::Order, plan::Resuming, plan::Schedule;

template <class Compress>
class Lists {
  public:
    Lists(std::span<const Job> jobs, const Obstacles& obstacles)
        : jobs_(jobs), obstacles_(obstacles), ready_s_(jobs.size()) {}

    void compress(const Order& order) {
        Compress lane(obstacles_.compress);
        for (const std::size_t j : order) ready_s_[j] = lane.place(0.0, jobs_[j].compress_s).end_s;
    }
    double write(const Order& order) const {
        Frontier lane(obstacles_.write);
        double end_s = 0.0;
        for (const std::size_t j : order) end_s = lane.place(ready_s_[j], jobs_[j].write_s).end_s;
        return end_s;
    }
    Schedule schedule(const Order& compress_order, const Order& write_order) const {
        Schedule result;
        result.compress_begin_s.resize(jobs_.size());
        result.compress_end_s.resize(jobs_.size());
        result.write_begin_s.resize(jobs_.size());
        Compress compress_lane(obstacles_.compress);
        for (const std::size_t j : compress_order) {
            const Interval at = compress_lane.place(0.0, jobs_[j].compress_s);
            result.compress_begin_s[j] = at.begin_s;
            result.compress_end_s[j] = at.end_s;
        }
        Frontier write_lane(obstacles_.write);
        for (const std::size_t j : write_order) {
            const Interval at = write_lane.place(result.compress_end_s[j], jobs_[j].write_s);
            result.write_begin_s[j] = at.begin_s;
            result.end_s = std::max(result.end_s, at.end_s);
        }
        return result;
    }

  private:
    std::span<const Job> jobs_;
    const Obstacles& obstacles_;
    std::vector<double> ready_s_;
};

// `order` with `job` at each position in turn; back as it was, with the job where `better` last
// said yes.
template <class Better>
void insert_at_best(Order& order, std::size_t job, Better better) {
    order.push_back(job);
    std::size_t best = order.size() - 1;
    for (std::size_t p = order.size(); p-- > 0;) {
        if (better()) best = p;
        if (p > 0) std::swap(order[p], order[p - 1]);
    }
    // The job is at the front now.
    const auto front = order.begin();
    std::rotate(front, front + 1, front + static_cast<std::ptrdiff_t>(best) + 1);
}

template <class Compress>
Schedule one_list(std::span<const Job> jobs, const Obstacles& obstacles) {
    Lists<Compress> lists(jobs, obstacles);
    Order order;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        double best_s = std::numeric_limits<double>::infinity();
        insert_at_best(order, j, [&] {
            lists.compress(order);
            const double end_s = lists.write(order);
            if (end_s > best_s) return false;  // positions come last first: equal is better
            best_s = end_s;
            return true;
        });
    }
    return lists.schedule(order, order);
}

template <class Compress>
Schedule two_lists(std::span<const Job> jobs, const Obstacles& obstacles) {
    Lists<Compress> lists(jobs, obstacles);
    Order compress_order, write_order;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        double best_s = std::numeric_limits<double>::infinity();
        Order best_write_order;
        insert_at_best(compress_order, j, [&] {
            lists.compress(compress_order);
            bool found = false;
            Order trial = write_order;
            insert_at_best(trial, j, [&] {
                const double end_s = lists.write(trial);
                if (end_s > best_s) return false;
                best_s = end_s;
                return found = true;
            });
            if (found) best_write_order = std::move(trial);
            return found;
        });
        write_order = std::move(best_write_order);
    }
    return lists.schedule(compress_order, write_order);
}

}  // namespace

// Source: S0 §3.3.3.
Schedule one_list_greedy(std::span<const Job> jobs, const Obstacles& obstacles, bool resumable) {
    return resumable ? one_list<Resuming>(jobs, obstacles) : one_list<Frontier>(jobs, obstacles);
}

// Source: S0 §3.3.3.
Schedule two_lists_greedy(std::span<const Job> jobs, const Obstacles& obstacles, bool resumable) {
    return resumable ? two_lists<Resuming>(jobs, obstacles) : two_lists<Frontier>(jobs, obstacles);
}

}  // namespace caesura::lab
