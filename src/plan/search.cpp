// Our own planner: the best of the backfilled orders, improved by annealing within a budget.
//
// Three kinds of change take turns. Swapping two jobs or moving one finds good orders soon, but not
// how tasks fill gaps without waste, on which hangs whether the last task still fits before an
// obstacle or has to wait for its end. So now and then the gaps of a lane are filled anew (Refill);
// and between, all tasks of a lane are packed before an obstacle which the last one now comes after
// (TightPacker).
//
// Invariants:
//  - Never worse than ext_johnson_backfill, generation_list_backfill or, up to 2,000 jobs,
//    insertion_backfill.
//  - The same input gives the same order: the budget is counted, and the random numbers have a
//    seed.
#include <cmath>
#include <type_traits>

#include "plan/packing.hpp"

namespace caesura::plan {
namespace {

// How much longer than the present order a tried one may be to be taken, as a share of the end and
// times a number drawn with mean 1: falls from the first to the last over the budget. Chosen on
// random instances (docs/evidence/planning.md): 1 % to 0.01 % beats a fall from 3 % or 0.3 % and
// pure descent.
constexpr double k_first_temperature = 1e-2, k_last_temperature = 1e-4;
// Steps between two looks at the temperature: cooling need not be smooth.
constexpr std::uint64_t k_cooling_steps = 4096;
// Of all changes, how many fill gaps anew.
constexpr double k_refill_share = 0.2;
// How often tight packings are looked for, and on what share of the budget in all.
constexpr std::uint64_t k_packing_rounds = 12;
constexpr double k_packing_share = 0.15;
// Tries to pack before another obstacle is taken, and changes tried to make a schedule of a
// packing.
constexpr int k_packing_tries = 50, k_repair_tries = 100;
// With more jobs than this a task is short beside the gaps: nothing to pack, but much to look at.
constexpr std::size_t k_packing_jobs = 500;
// The order by insertion takes time in proportion to the square of the jobs: 10 ms for these.
constexpr std::size_t k_insertion_jobs = 2000;

template <class Compress>
class Search {
  public:
    Search(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules,
           const Compress& compress)
        : jobs_(jobs),
          random_(rules.seed),
          budget_(rules.search_steps),
          bound_s_(*lower_bound_s(jobs, obstacles)),
          idle_compress_(compress),
          idle_write_(obstacles.write, jobs.size(), least_s(jobs, &Job::write_s)),
          compress_(idle_compress_),
          write_(idle_write_),
          begin_s_(jobs.size()),
          write_lane_(jobs, &Job::write_s, idle_write_.idle()),
          compress_lane_(jobs, &Job::compress_s, compress_gaps(idle_compress_)) {}

    void start_from(const Order& order) {
        const double end_s = this->end_s(order, best_s_);
        if (end_s < best_s_) keep(order, end_s);
    }

    /// Change the order and keep what is not much worse; ever less of it.
    void anneal() {
        // 1e-9: what the bound itself leaves for rounding, and more.
        const double good_enough_s = bound_s_ * (1.0 + 1e-9);
        const std::uint64_t begin = steps_;
        std::uint64_t cool_at = begin, pack_at = begin;
        Order order = best_, trial = best_;
        double order_s = best_s_, temperature_s = 0.0;
        while (steps_ < begin + budget_ && best_s_ > good_enough_s) {
            if (steps_ >= cool_at) {
                const double done =
                    static_cast<double>(steps_ - begin) / static_cast<double>(budget_);
                temperature_s = best_s_ * k_first_temperature *
                                std::pow(k_last_temperature / k_first_temperature, done);
                cool_at = steps_ + k_cooling_steps;
            }
            if (packs_ && steps_ >= pack_at) {
                if (pack_tightly()) {
                    order = best_;
                    order_s = best_s_;
                }
                pack_at = steps_ + budget_ / k_packing_rounds;
            }
            trial = order;
            if (!packs_ || share(random_) >= k_refill_share) {
                change(trial);
            } else {
                if (coin(random_)) change(trial);
                if (!refill(trial)) continue;
            }
            const double drawn = -std::log(1.0 - share(random_));
            const double trial_s = end_s(trial, order_s + temperature_s * drawn);
            if (std::isinf(trial_s)) continue;
            order_s = trial_s;
            order.swap(trial);
            if (order_s < best_s_) keep(order, order_s);
        }
    }

    Order take() { return std::move(best_); }

  private:
    struct Target {  // to pack all tasks of a lane into these gaps
        const PackingLane* lane;
        std::vector<Interval> gaps;
        double slack_s;
    };

    static constexpr bool k_suspends = std::is_same_v<Compress, Resuming>;
    static std::span<const Interval> compress_gaps(const Compress& lane) {
        if constexpr (k_suspends)
            return {};  // a suspended lane has nothing to pack
        else
            return lane.idle();
    }

    void keep(const Order& order, double end_s) {
        best_ = order;
        best_s_ = end_s;
    }

    /// When the last write of this order ends; infinity as soon as that is after `limit_s`.
    double end_s(const Order& order, double limit_s) {
        return place_each(order, limit_s, [](std::size_t, const Interval&, const Interval&) {});
    }

    template <class Note>
    double place_each(const Order& order, double limit_s, Note note) {
        compress_.restart(idle_compress_);
        write_.restart(idle_write_);
        double end_s = 0.0;
        for (const std::size_t j : order) {
            const Interval compressing = compress_.place(0.0, jobs_[j].compress_s);
            const Interval writing = write_.place(compressing.end_s, jobs_[j].write_s);
            note(j, compressing, writing);
            end_s = std::max(end_s, writing.end_s);
            if (end_s > limit_s) {
                end_s = std::numeric_limits<double>::infinity();
                break;
            }
        }
        steps_ += compress_.steps() + write_.steps() + order.size();
        return end_s;
    }

    /// Swap two jobs or move one.
    void change(Order& order) {
        const std::size_t from = below(random_, order.size()), to = below(random_, order.size());
        const auto at = [&](std::size_t i) {
            return order.begin() + static_cast<std::ptrdiff_t>(i);
        };
        if (coin(random_))
            std::iter_swap(at(from), at(to));
        else if (from < to)
            std::rotate(at(from), at(from + 1), at(to + 1));
        else
            std::rotate(at(to), at(from), at(from + 1));
    }

    bool refill(Order& order) {
        const bool compress = !k_suspends && coin(random_);
        place_each(order, std::numeric_limits<double>::infinity(),
                   [&](std::size_t j, const Interval& compressing, const Interval& writing) {
                       begin_s_[j] = compress ? compressing.begin_s : writing.begin_s;
                   });
        Refill& lane = compress ? refill_compress_ : refill_write_;
        const std::uint64_t before = lane.steps();
        const bool done = lane.run(order, begin_s_, best_s_, random_);
        steps_ += lane.steps() - before + 1;
        return done;
    }

    /// Where a lane's last task might still come before an obstacle that it now comes after.
    std::vector<Target> targets() {
        std::vector<Target> found;
        const double least_compress_s = least_s(jobs_, &Job::compress_s);
        const double least_write_s = least_s(jobs_, &Job::write_s);
        double compressed_s = 0.0;
        place_each(best_, std::numeric_limits<double>::infinity(),
                   [&](std::size_t, const Interval& compressing, const Interval&) {
                       compressed_s = std::max(compressed_s, compressing.end_s);
                   });
        const auto add = [&](const PackingLane& lane, double from_s, double until_s) {
            Target target{&lane, gaps_between(lane.gaps, from_s, until_s), 0.0};
            target.slack_s = plan::total_s(target.gaps) - lane.total_s;
            if (target.slack_s >= 0.0 && target.gaps.size() > 1) found.push_back(std::move(target));
        };
        // All writes before an obstacle of their lane; for that, all compressions a little earlier.
        for (const Interval& gap : write_lane_.gaps) {
            if (gap.end_s < bound_s_ || gap.end_s >= best_s_) continue;
            add(write_lane_, least_compress_s, gap.end_s);
            if (!k_suspends && gap.end_s - least_write_s < compressed_s)
                add(compress_lane_, 0.0, gap.end_s - least_write_s);
        }
        for (const Interval& gap : compress_lane_.gaps) {
            const double end_s = gap.end_s + least_write_s;
            if (end_s >= bound_s_ && end_s < best_s_ && gap.end_s < compressed_s)
                add(compress_lane_, 0.0, gap.end_s);
        }
        return found;
    }

    /// Whether that made the best order better.
    bool pack_tightly() {
        const double allowed =
            k_packing_share * static_cast<double>(budget_) / static_cast<double>(k_packing_rounds);
        const std::uint64_t stop = steps_ + static_cast<std::uint64_t>(allowed);
        const double before_s = best_s_;
        std::vector<Target> open = targets();
        while (!open.empty() && steps_ < stop) {
            const Target& target = open[below(random_, open.size())];
            if (!pack(target, stop)) continue;
            Order order = coin(random_) ? best_ : johnson_order(jobs_);
            std::stable_sort(order.begin(), order.end(),
                             [&](std::size_t a, std::size_t b) { return gap_of_[a] < gap_of_[b]; });
            if (repair(std::move(order), stop)) open = targets();
        }
        return best_s_ < before_s;
    }

    bool pack(const Target& target, std::uint64_t stop) {
        TightPacker& packer = target.lane == &compress_lane_ ? pack_compress_ : pack_write_;
        for (int i = 0; i < k_packing_tries && steps_ < stop; ++i) {
            const std::uint64_t before = packer.steps();
            const bool packed = packer.try_once(target.gaps, target.slack_s, random_);
            steps_ += packer.steps() - before + 1;
            if (!packed) continue;
            gap_of_ = packer.gap_of();
            return true;
        }
        return false;
    }

    /// A packing knows one lane only: what the other makes of it gets better by a few changes.
    bool repair(Order order, std::uint64_t stop) {
        double order_s = end_s(order, std::numeric_limits<double>::infinity());
        Order trial;
        for (int i = 0; i < k_repair_tries && order_s >= best_s_ && steps_ < stop; ++i) {
            trial = order;
            change(trial);
            const double trial_s = end_s(trial, order_s);
            if (std::isinf(trial_s)) continue;
            order_s = trial_s;
            order.swap(trial);
        }
        if (order_s >= best_s_) return false;
        keep(order, order_s);
        return true;
    }

    std::span<const Job> jobs_;
    Random random_;
    const std::uint64_t budget_;
    const double bound_s_;
    const Compress idle_compress_;
    const Gaps idle_write_;
    Compress compress_;
    Gaps write_;
    std::vector<double> begin_s_;  // of the lane that is refilled
    const PackingLane write_lane_, compress_lane_;
    Refill refill_write_{write_lane_}, refill_compress_{compress_lane_};
    TightPacker pack_write_{write_lane_}, pack_compress_{compress_lane_};
    std::vector<std::size_t> gap_of_;
    const bool packs_ = jobs_.size() <= k_packing_jobs;
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
    Search<Compress> search(jobs, obstacles, rules, compress);
    search.start_from(johnson_order(jobs));
    search.start_from(generation_order(jobs.size()));
    if (jobs.size() <= k_insertion_jobs) search.start_from(insertion_order(jobs));
    search.start_from(longest_first(jobs.size(), [&](std::size_t j) { return jobs[j].write_s; }));
    search.start_from(longest_first(
        jobs.size(), [&](std::size_t j) { return jobs[j].compress_s + jobs[j].write_s; }));
    if (jobs.size() > 1) search.anneal();
    return search.take();
}

}  // namespace

Order search_order(std::span<const Job> jobs, const Obstacles& obstacles, const Rules& rules) {
    if (rules.resumable) return search_with(jobs, obstacles, rules, Resuming(obstacles.compress));
    return search_with(jobs, obstacles, rules,
                       Gaps(obstacles.compress, jobs.size(), least_s(jobs, &Job::compress_s)));
}

}  // namespace caesura::plan
