// Which rank's event comes first.
//
// Invariants:
//  - A tournament: each node of a binary tree names the earlier of its two children, of equal ones
//    the lower rank. Changing one rank's time costs O(log ranks), asking nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace caesura::simulate {

class NextEvent {
  public:
    explicit NextEvent(std::uint32_t n_ranks) {
        while (n_leaves_ < n_ranks) n_leaves_ *= 2;
        time_s_.assign(n_leaves_, std::numeric_limits<double>::infinity());
        winner_.resize(2 * n_leaves_);
        for (std::uint32_t i = 0; i < n_leaves_; ++i) winner_[n_leaves_ + i] = i;
        for (std::uint32_t i = n_leaves_; i-- > 1;) winner_[i] = winner_[2 * i];
    }
    void set(std::uint32_t rank, double time_s) {
        if (time_s_[rank] == time_s) return;
        time_s_[rank] = time_s;
        for (std::uint32_t i = (n_leaves_ + rank) / 2; i > 0; i /= 2) {
            const std::uint32_t left = winner_[2 * i], right = winner_[2 * i + 1];
            winner_[i] = time_s_[right] < time_s_[left] ? right : left;
        }
    }
    std::uint32_t rank() const { return winner_[1]; }
    double time_s() const { return time_s_[rank()]; }

  private:
    std::uint32_t n_leaves_ = 1;
    std::vector<double> time_s_;         // [leaf]
    std::vector<std::uint32_t> winner_;  // [1] the root, [n_leaves_ + i] leaf i
};

}  // namespace caesura::simulate
