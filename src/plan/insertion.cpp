// S1's order of fields: every job is inserted where the list so far would end soonest.
//
// Invariants:
//  - The result is a permutation of the jobs.
//  - No obstacles here: schedule() places the order around them by its one placing rule.
#include <algorithm>
#include <limits>

#include "plan/schedule.hpp"

namespace caesura::plan {
namespace {

/// A list of jobs and, for each position in it, what an insertion there needs to know.
///
/// A list without obstacles ends at max over k of (compressions up to and with k) + (writes from k
/// on): the recurrence of S1-Alg1, t_c += c; t_w = w + max(t_c, t_w), written out. A job (c, w) put
/// at position p adds w to all terms before p, adds c to all from p on, and has a term of its own.
/// So the end is had in O(1) from running maxima, and one round of insertions costs O(n), not
/// O(n^2).
class List {
  public:
    explicit List(std::span<const Job> jobs) : jobs_(jobs) { order_.reserve(jobs.size()); }

    void insert_at_best(std::size_t job) {
        const std::size_t n = order_.size();
        // [k]: what holds for the jobs from k on.
        writes_from_.assign(n + 1, 0.0);
        worst_from_.assign(n + 1, -std::numeric_limits<double>::infinity());
        double compress_s = 0.0;
        for (const std::size_t j : order_) compress_s += jobs_[j].compress_s;
        for (std::size_t k = n; k-- > 0;) {
            writes_from_[k] = writes_from_[k + 1] + jobs_[order_[k]].write_s;
            worst_from_[k] = std::max(worst_from_[k + 1], compress_s + writes_from_[k]);
            compress_s -= jobs_[order_[k]].compress_s;
        }
        const double c = jobs_[job].compress_s, w = jobs_[job].write_s;
        double worst_before = -std::numeric_limits<double>::infinity();
        double best_s = std::numeric_limits<double>::infinity();
        std::size_t best = 0;
        compress_s = 0.0;
        for (std::size_t p = 0; p <= n; ++p) {
            const double end_s = std::max(
                {worst_before + w, worst_from_[p] + c, compress_s + c + w + writes_from_[p]});
            if (end_s < best_s) {
                best_s = end_s;
                best = p;
            }
            if (p == n) break;
            compress_s += jobs_[order_[p]].compress_s;
            worst_before = std::max(worst_before, compress_s + writes_from_[p]);
        }
        order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(best), job);
    }

    std::vector<std::size_t> take() { return std::move(order_); }

  private:
    std::span<const Job> jobs_;
    std::vector<std::size_t> order_;
    std::vector<double> writes_from_, worst_from_;
};

}  // namespace

// Source: S1-Alg1. Differs: as printed, line 15 replaces the queue inside the loop over positions.
// Later trials then insert the field into a queue that holds it already, which never ends sooner,
// so every field stays at the first position: the order of generation backwards. Meant is to try
// all positions on the same queue and to replace it once, by the best.
std::vector<std::size_t> insertion_order(std::span<const Job> jobs) {
    List list(jobs);
    for (std::size_t j = 0; j < jobs.size(); ++j) list.insert_at_best(j);
    return list.take();
}

}  // namespace caesura::plan
