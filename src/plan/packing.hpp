// How tasks fill the gaps of one lane: the part of planning that is bin packing.
//
// Invariants:
//  - Deterministic but for the random numbers handed in; every step is counted.
//  - Only this lane counts here. Whether a packing makes a good schedule is for the search to see.
#pragma once

#include <random>

#include "plan/orders.hpp"

namespace caesura::plan {

using Random = std::mt19937_64;
inline std::size_t below(Random& random, std::size_t n) {
    return static_cast<std::size_t>(random() % n);
}
inline bool coin(Random& random) { return (random() & 1) != 0; }
/// [0, 1) in steps of 2^-16.
inline double share(Random& random) { return static_cast<double>(random() % 65536) / 65536.0; }

/// The gaps of a lane in [from_s, until_s).
std::vector<Interval> gaps_between(std::span<const Interval> gaps, double from_s, double until_s);
double total_s(std::span<const Interval> gaps);

/// One lane's tasks and gaps.
struct PackingLane {
    PackingLane(std::span<const Job> jobs, double Job::*duration_s,
                std::span<const Interval> idle_gaps);
    std::vector<double> duration_s;  ///< [n_jobs]
    double total_s = 0.0;            ///< of all durations
    std::vector<Interval> gaps;      ///< of the lane without tasks, the last one endless
    Order shortest_first;
};

/// Looks for a way to put every task into the given gaps, which hold little more than all tasks
/// together. Randomised: each call is one try, most of which fail early.
class TightPacker {
  public:
    explicit TightPacker(const PackingLane& lane) : lane_(lane), gap_of_(lane.duration_s.size()) {}

    /// @param slack_s  total of the gaps less the total of the tasks, >= 0.
    bool try_once(std::span<const Interval> gaps, double slack_s, Random& random);
    /// [n_jobs] index into the gaps of the last try that succeeded.
    const std::vector<std::size_t>& gap_of() const { return gap_of_; }
    std::uint64_t steps() const { return steps_; }

  private:
    double fill(std::size_t gap, double room_s, Random& random);
    double close(std::size_t gap, double room_s);
    void take(std::size_t at, std::size_t gap) {
        gap_of_[left_[at]] = gap;
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    const PackingLane& lane_;
    Order left_;                        // jobs without a gap, shortest first
    std::vector<std::size_t> by_room_;  // gaps, smallest first
    std::vector<std::size_t> gap_of_;
    std::uint64_t steps_ = 0;
};

/// Packs a lane's gaps anew from a random one on: into each goes the first subset of the tasks, in
/// the order given, that leaves little of it.
class Refill {
  public:
    explicit Refill(const PackingLane& lane) : lane_(lane), gap_of_(lane.duration_s.size()) {}

    /// @param order    jobs; @param begin_s  [n_jobs] when they begin in this lane now.
    /// @param until_s  gaps that begin later are none.
    /// @return  whether there was something to refill; then `order` is the new one.
    bool run(Order& order, std::span<const double> begin_s, double until_s, Random& random);
    std::uint64_t steps() const { return steps_; }

  private:
    void search(std::size_t first, double room_s, double enough_s);

    const PackingLane& lane_;
    std::vector<std::size_t> gap_of_, gaps_;
    Order rest_;                              // jobs to place, in order of preference
    std::vector<std::size_t> chosen_, best_;  // places in rest_
    double best_left_s_ = 0.0;
    std::uint64_t nodes_ = 0, steps_ = 0;
};

}  // namespace caesura::plan
