// Our own planner: the best of the backfilled orders, improved by annealing within a budget.
//
// Invariants:
//  - Never worse than ext_johnson_backfill, generation_list_backfill or insertion_backfill.
//  - The same input gives the same order: the budget is counted, and the random numbers have a
//    seed.
#include <cmath>
#include <random>

#include "plan/orders.hpp"

namespace caesura::plan {
namespace {

// How much longer than the present order a tried one may be to be taken, as a share of the end and
// times a number drawn with mean 1: falls from the first to the last over the budget. Chosen on
// random instances (bench/plan): 1 % to 0.01 % beats a fall from 3 % or 0.3 % and pure descent.
constexpr double k_first_temperature = 1e-2, k_last_temperature = 1e-4;
// Steps between two looks at the temperature: cooling need not be smooth.
constexpr std::uint64_t k_cooling_steps = 4096;

template <class Compress>
class Search {
  public:
    Search(std::span<const Job> jobs, const Obstacles& obstacles, const Compress& compress)
        : jobs_(jobs),
          idle_compress_(compress),
          idle_write_(obstacles.write, jobs.size(), least_s(jobs, &Job::write_s)),
          compress_(idle_compress_),
          write_(idle_write_) {}

    /// When the last write of this order ends; infinity as soon as that is after `limit_s`.
    double end_s(const Order& order, double limit_s) {
        compress_.restart(idle_compress_);
        write_.restart(idle_write_);
        double end_s = 0.0;
        for (const std::size_t j : order) {
            const double ready_s = compress_.place(0.0, jobs_[j].compress_s).end_s;
            end_s = std::max(end_s, write_.place(ready_s, jobs_[j].write_s).end_s);
            if (end_s > limit_s) {
                end_s = std::numeric_limits<double>::infinity();
                break;
            }
        }
        steps_ += compress_.steps() + write_.steps() + order.size();
        return end_s;
    }

    void start_from(const Order& order) {
        const double end_s = this->end_s(order, best_s_);
        if (end_s < best_s_) {
            best_s_ = end_s;
            best_ = order;
        }
    }

    /// Swap two jobs or move one, and keep what is not much worse; ever less of it.
    void anneal(std::uint64_t budget, std::uint64_t seed, double good_enough_s) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        const std::uint64_t begin = steps_;
        Order order = best_, trial = best_;
        double order_s = best_s_, temperature_s = 0.0;
        std::uint64_t cool_at = begin;
        while (steps_ < begin + budget && best_s_ > good_enough_s) {
            if (steps_ >= cool_at) {
                const double done =
                    static_cast<double>(steps_ - begin) / static_cast<double>(budget);
                temperature_s = best_s_ * k_first_temperature *
                                std::pow(k_last_temperature / k_first_temperature, done);
                cool_at = steps_ + k_cooling_steps;
            }
            trial = order;
            change(trial, below(order.size()), below(order.size()), random() & 1);
            const double drawn = -std::log(static_cast<double>(random() % 65536 + 1) / 65536.0);
            const double trial_s = end_s(trial, order_s + temperature_s * drawn);
            if (std::isinf(trial_s)) continue;
            order_s = trial_s;
            order.swap(trial);
            if (order_s < best_s_) {
                best_s_ = order_s;
                best_ = order;
            }
        }
    }

    Order take() { return std::move(best_); }

  private:
    static void change(Order& order, std::size_t from, std::size_t to, bool swap) {
        const auto at = [&](std::size_t i) {
            return order.begin() + static_cast<std::ptrdiff_t>(i);
        };
        if (swap)
            std::iter_swap(at(from), at(to));
        else if (from < to)
            std::rotate(at(from), at(from + 1), at(to + 1));
        else
            std::rotate(at(to), at(from), at(from + 1));
    }

    std::span<const Job> jobs_;
    const Compress idle_compress_;
    const Gaps idle_write_;
    Compress compress_;
    Gaps write_;
    Order best_;
    double best_s_ = std::numeric_limits<double>::infinity();
    std::uint64_t steps_ = 0;
};

// Longest first: what is long finds room only while gaps are still whole.
template <class Length>
Order longest_first(std::size_t n_jobs, Length length) {
    Order order = generation_order(n_jobs);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return length(a) > length(b); });
    return order;
}

template <class Compress>
Order search_with(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules,
                  const Compress& compress) {
    Search<Compress> search(jobs, obstacles, compress);
    search.start_from(johnson_order(jobs));
    search.start_from(generation_order(jobs.size()));
    search.start_from(insertion_order(jobs));
    search.start_from(longest_first(jobs.size(), [&](std::size_t j) { return jobs[j].write_s; }));
    search.start_from(longest_first(
        jobs.size(), [&](std::size_t j) { return jobs[j].compress_s + jobs[j].write_s; }));
    // 1e-9: what the bound itself leaves for rounding, and more.
    if (jobs.size() > 1)
        search.anneal(rules.search_steps, rules.seed,
                      *lower_bound_s(jobs, obstacles) * (1.0 + 1e-9));
    return search.take();
}

}  // namespace

Order search_order(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules) {
    if (rules.resumable) return search_with(jobs, obstacles, rules, Resuming(obstacles.compress));
    return search_with(jobs, obstacles, rules,
                       Gaps(obstacles.compress, jobs.size(), least_s(jobs, &Job::compress_s)));
}

}  // namespace caesura::plan
