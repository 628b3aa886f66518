// Random planning problems for tests and benchmarks, from a seed.
//
// Invariants:
//  - `grid_s` > 0 makes all times multiples of it (a power of two: sums are then exact and ties
//    and touching intervals are frequent); 0 draws real numbers.
#pragma once

#include <cmath>
#include <random>

#include "plan/schedule.hpp"

namespace caesura::plan {

struct Instance {
    std::vector<Job> jobs;
    Obstacles obstacles;
};

class InstanceMaker {
  public:
    InstanceMaker(unsigned seed, double grid_s) : random_(seed), grid_s_(grid_s) {}

    /// @param zero_share  share of tasks and obstacles of zero length.
    Instance make(std::size_t n_jobs, std::size_t n_obstacles, double zero_share) {
        Instance instance;
        for (std::size_t j = 0; j < n_jobs; ++j)
            instance.jobs.push_back({length(zero_share), length(zero_share)});
        instance.obstacles.compress = obstacles(n_obstacles, zero_share);
        instance.obstacles.write = obstacles(n_obstacles, zero_share);
        return instance;
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
    /// (0, 2] s, or 0 with the given probability.
    double length(double zero_share) {
        if (unit_(random_) < zero_share) return 0.0;
        const double drawn_s = 2.0 * (1.0 - unit_(random_));
        return grid_s_ > 0.0 ? std::ceil(drawn_s / grid_s_) * grid_s_ : drawn_s;
    }

  private:
    std::vector<Interval> obstacles(std::size_t n, double zero_share) {
        std::vector<Interval> result;
        double at_s = below(4) == 0 ? -1.0 : 0.0;  // some are under way when the iteration begins
        for (std::size_t i = 0; i < n; ++i) {
            const double begin_s = at_s + (below(4) == 0 ? 0.0 : length(zero_share));
            at_s = begin_s + length(zero_share);
            result.push_back({begin_s, at_s});
        }
        return result;
    }

    std::mt19937 random_;
    std::uniform_real_distribution<double> unit_{0.0, 1.0};
    double grid_s_;
};

}  // namespace caesura::plan
