// For tests, here and in lab/planners: what plans are, written from the definition.
#pragma once

#include <algorithm>
#include <limits>

#include "plan/instances.hpp"
#include "plan/orders.hpp"

namespace caesura::plan {

/// Johnson's order from its definition: the two sets one after the other, index last in each key.
inline Order johnson_by_definition(std::span<const Job> jobs) {
    std::vector<std::pair<double, std::size_t>> first, second;
    for (std::size_t j = 0; j < jobs.size(); ++j)
        if (jobs[j].compress_s <= jobs[j].write_s)
            first.emplace_back(jobs[j].compress_s, j);
        else
            second.emplace_back(-jobs[j].write_s, j);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    Order order;
    for (const auto* set : {&first, &second})
        for (const auto& [key, j] : *set) order.push_back(j);
    return order;
}

/// The earliest legal place by trying every candidate: an earliest begin is either the moment the
/// task is ready or the end of something that lies before it.
class ReferenceLane {
  public:
    ReferenceLane(std::span<const Interval> obstacles, bool backfill) : backfill_(backfill) {
        for (const Interval& o : obstacles)
            if (o.begin_s < o.end_s) taken_.push_back(o);
    }
    double place(double ready_s, double duration_s) {
        if (!backfill_) ready_s = std::max(ready_s, last_end_s_);
        double best_s = std::numeric_limits<double>::infinity();
        const auto consider = [&](double at_s) {
            if (at_s < ready_s || at_s >= best_s) return;
            for (const Interval& t : taken_)
                if (at_s < t.end_s && t.begin_s < at_s + duration_s) return;
            best_s = at_s;
        };
        consider(ready_s);
        for (const Interval& t : taken_) consider(t.end_s);
        taken_.push_back({best_s, best_s + duration_s});
        last_end_s_ = best_s + duration_s;
        return best_s;
    }

  private:
    bool backfill_;
    double last_end_s_ = 0.0;
    std::vector<Interval> taken_;
};

/// Without obstacles some order common to both lanes is optimal (Johnson 1954), so trying all
/// orders gives the optimum.
inline double brute_force_optimum_s(std::span<const Job> jobs) {
    auto order = generation_order(jobs.size());
    double best_s = std::numeric_limits<double>::infinity();
    do {
        double compress_s = 0.0, write_s = 0.0;
        for (const std::size_t j : order) {
            compress_s += jobs[j].compress_s;
            write_s = std::max(write_s, compress_s) + jobs[j].write_s;
        }
        best_s = std::min(best_s, write_s);
    } while (std::next_permutation(order.begin(), order.end()));
    return best_s;
}

/// When the writes end if both lanes keep to these orders, each task as early as it may: nothing
/// earlier exists for this pair of orders. Written from the definition.
inline double end_of_orders_s(const Instance& in, const Order& compress, const Order& write,
                              bool resumable) {
    const auto clear_s = [](std::span<const Interval> obstacles, double at_s, double duration_s) {
        for (const Interval& o : obstacles)
            if (at_s < o.end_s && o.begin_s < at_s + duration_s && o.begin_s < o.end_s)
                at_s = o.end_s;
        return at_s;
    };
    std::vector<double> ready_s(in.jobs.size());
    double at_s = 0.0;
    for (const std::size_t j : compress) {
        double left_s = in.jobs[j].compress_s;
        if (resumable) {
            for (const Interval& o : in.obstacles.compress) {
                if (o.end_s <= at_s || !(o.begin_s < o.end_s)) continue;
                const double room_s = std::max(0.0, o.begin_s - at_s);
                if (left_s <= room_s && !(left_s == 0.0 && o.begin_s < at_s)) break;
                left_s -= room_s;
                at_s = o.end_s;
            }
        } else {
            at_s = clear_s(in.obstacles.compress, at_s, left_s);
        }
        ready_s[j] = at_s += left_s;
    }
    at_s = 0.0;
    for (const std::size_t j : write) {
        at_s = clear_s(in.obstacles.write, std::max(at_s, ready_s[j]), in.jobs[j].write_s);
        at_s += in.jobs[j].write_s;
    }
    return in.jobs.empty() ? 0.0 : at_s;
}

/// Over all pairs of orders: obstacles can make different orders optimal.
inline double optimum_s(const Instance& in, bool resumable) {
    double best_s = in.jobs.empty() ? 0.0 : std::numeric_limits<double>::infinity();
    Order compress = generation_order(in.jobs.size());
    do {
        Order write = generation_order(in.jobs.size());
        do {
            best_s = std::min(best_s, end_of_orders_s(in, compress, write, resumable));
        } while (std::next_permutation(write.begin(), write.end()));
    } while (std::next_permutation(compress.begin(), compress.end()));
    return best_s;
}

}  // namespace caesura::plan
