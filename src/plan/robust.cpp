// Plans against the distribution of durations instead of the mean.
//
// Candidates are what the search finds when every task lasts as expected, and when every task lasts
// half or one standard deviation longer, which leaves room at the obstacles. All are run by
// execute() in the same worlds drawn from the spreads, and the one that does best on average is
// improved there by small changes of either order.
//
// Invariants:
//  - In the drawn worlds never worse, on average, than the orders of ext_johnson_backfill and
//    generation_list_backfill.
//  - The same input gives the same schedule.
#include <cmath>

#include "plan/scenarios.hpp"

namespace caesura::plan {
namespace {

constexpr std::size_t k_scenarios = 24;
// Standard deviations by which tasks are made longer for the search of a candidate.
constexpr double k_margins[] = {0.0, 0.5, 1.0};
// What running one task or obstacle costs beside a step of the search.
constexpr std::uint64_t k_steps_per_event = 25;

double normal(Random& random) {  // Box and Muller: the standard's own differs between libraries
    const double radius = std::sqrt(-2.0 * std::log(1.0 - share(random)));
    return radius * std::cos(2.0 * 3.14159265358979323846 * share(random));
}

std::vector<Interval> moved(std::span<const Interval> obstacles, double spread_s, Random& random) {
    std::vector<Interval> result;
    double after_s = -std::numeric_limits<double>::infinity();
    for (const Interval& o : obstacles) {
        const double begin_s = std::max(after_s, o.begin_s + spread_s * normal(random));
        after_s = std::max(begin_s, o.end_s + spread_s * normal(random));
        result.push_back({begin_s, after_s});
    }
    return result;
}

class Worlds {
  public:
    Worlds(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules)
        : jobs_(jobs), obstacles_(obstacles), resumable_(rules.resumable) {
        Random random(rules.seed);
        for (std::size_t i = 0; i < k_scenarios; ++i)
            worlds_.push_back(draw_scenario(jobs, obstacles, random));
    }

    /// How long the iteration lasts on average, as far as it is known: to the last write, and to
    /// the last obstacle as it happens. Infinity as soon as that is sure to be above `limit_s`.
    double mean_end_s(const Orders& orders, double limit_s) {
        double sum_s = 0.0;
        for (const Scenario& world : worlds_) {
            const Execution done =
                run_orders(orders, jobs_, obstacles_, world.jobs, world.obstacles, resumable_);
            steps_ += k_steps_per_event * (2 * jobs_.size() + done.obstacles.compress.size() +
                                           done.obstacles.write.size());
            double end_s = done.schedule.end_s;
            for (const auto* lane : {&done.obstacles.compress, &done.obstacles.write})
                if (!lane->empty()) end_s = std::max(end_s, lane->back().end_s);
            sum_s += end_s;
            if (sum_s > limit_s * static_cast<double>(k_scenarios))
                return std::numeric_limits<double>::infinity();
        }
        return sum_s / static_cast<double>(k_scenarios);
    }
    std::uint64_t steps() const { return steps_; }

  private:
    std::span<const Job> jobs_;
    const Obstacles& obstacles_;
    const bool resumable_;
    std::vector<Scenario> worlds_;
    std::uint64_t steps_ = 0;
};

// One job to another place, in either order or in both.
void change(Orders& orders, Random& random) {
    const std::size_t n = orders.compress.size();
    const std::size_t which = below(random, 3), from = below(random, n), to = below(random, n);
    for (const auto& [order, kept] :
         {std::pair{&orders.compress, std::size_t{0}}, std::pair{&orders.write, std::size_t{1}}}) {
        if (which == kept) continue;
        const std::size_t job = (*order)[from];
        order->erase(order->begin() + static_cast<std::ptrdiff_t>(from));
        order->insert(order->begin() + static_cast<std::ptrdiff_t>(to), job);
    }
}

std::vector<Job> longer(std::span<const Job> jobs, double sigmas) {
    std::vector<Job> result(jobs.begin(), jobs.end());
    for (Job& job : result) {
        job.compress_s += sigmas * job.compress_spread_s;
        job.write_s += sigmas * job.write_spread_s;
    }
    return result;
}

}  // namespace

Scenario draw_scenario(std::span<const Job> jobs, const Obstacles& obstacles, Random& random) {
    Scenario world;
    const auto drawn_s = [&](double expected_s, double spread_s) {
        return std::max(0.1 * expected_s, expected_s + spread_s * normal(random));
    };
    for (const Job& job : jobs) {
        const double compress_s = drawn_s(job.compress_s, job.compress_spread_s);
        world.jobs.push_back({compress_s, drawn_s(job.write_s, job.write_spread_s)});
    }
    world.obstacles.compress = moved(obstacles.compress, obstacles.spread_s, random);
    world.obstacles.write = moved(obstacles.write, obstacles.spread_s, random);
    return world;
}

bool has_spread(std::span<const Job> jobs, const Obstacles& obstacles) {
    return obstacles.spread_s > 0.0 || std::any_of(jobs.begin(), jobs.end(), [](const Job& job) {
               return job.compress_spread_s > 0.0 || job.write_spread_s > 0.0;
           });
}

// Source: ours, for S0 §5.4.1's noise.
Schedule robust_schedule(std::span<const Job> jobs, const Obstacles& obstacles,
                         const Rules& rules) {
    Worlds worlds(jobs, obstacles, rules);
    Orders best;
    double best_s = std::numeric_limits<double>::infinity();
    const auto consider = [&](const Order& order, std::span<const Job> planned) {
        const Orders orders = orders_of(place(order, planned, obstacles, rules.resumable), planned);
        const double end_s = worlds.mean_end_s(orders, best_s);
        if (end_s < best_s) {
            best_s = end_s;
            best = orders;
        }
    };
    consider(generation_order(jobs.size()), jobs);
    consider(johnson_order(jobs), jobs);
    Rules part = rules;
    part.search_steps /= std::size(k_margins) + 1;
    for (const double sigmas : k_margins) {
        const std::vector<Job> planned = longer(jobs, sigmas);
        consider(search_order(planned, obstacles, part), planned);
    }
    Random random(rules.seed);
    for (const std::uint64_t end = worlds.steps() + part.search_steps;
         jobs.size() > 1 && worlds.steps() < end;) {
        Orders trial = best;
        change(trial, random);
        const double end_s = worlds.mean_end_s(trial, best_s);
        if (end_s > best_s) continue;
        best_s = end_s;
        best = std::move(trial);
    }
    return run_orders(best, jobs, obstacles, jobs, obstacles, rules.resumable).schedule;
}

}  // namespace caesura::plan
