#include "plan/one_step.hpp"

#include <limits>

namespace caesura::plan {
namespace {

// Measured (docs/evidence/checkpoints.md): 0.1 is up to 22 % worse than the better simple way, 0.5
// up to 41 %.
constexpr double k_ends = 0.2;

class Prices {
  public:
    Prices(const CheckpointProfile& ahead, double interval_s) {
        const auto u = static_cast<double>(ahead.checkpoint_bytes);
        const double raw_s = u / ahead.link_bytes_per_s;
        const double small_s =
            static_cast<double>(ahead.compressed_bytes.front()) / ahead.link_bytes_per_s;
        const double each_s = best_each_s(ahead);
        const double saved_s = std::max(raw_s - small_s, 0.0);
        if (interval_s >= raw_s) {  // the link keeps up: only the application counts
            ends_ = 0.0;
            rho_ = interval_s;
            return;
        }
        if (saved_s > 0.0 && interval_s + each_s <= small_s)
            link_ = 1.0;  // it does not, even if all are compressed
        else if (saved_s > 0.0)
            link_ = each_s / (each_s + saved_s);
        rho_ = link_ >= 1.0 ? small_s : (1.0 - link_) * interval_s + link_ * raw_s;
        rho_ += ends_ * (std::max(small_s, interval_s + each_s) - rho_);
    }
    /// Of being where `now` is after `checkpoints`.
    double excess_s(const Moment& now, double checkpoints) const {
        const double link_s = std::max(now.link_s, now.application_s);
        return (1.0 - ends_) * ((1.0 - link_) * now.application_s + link_ * link_s) +
               ends_ * link_s - rho_ * checkpoints;
    }

  private:
    /// Compressing one of as many as fit the cache.
    static double best_each_s(const CheckpointProfile& ahead) {
        const auto u = static_cast<double>(ahead.checkpoint_bytes);
        double best_s = std::numeric_limits<double>::infinity();
        for (std::size_t k = 1; k < std::max<std::size_t>(ahead.intervals_s.size(), 2); ++k) {
            const auto together = static_cast<double>(k);
            best_s = std::min(best_s, compress_s(ahead.compress_curve, together * u) / together);
        }
        return best_s;
    }

    double ends_ = k_ends;
    double link_ = 0.0;  ///< what a second of the link is worth
    double rho_ = 0.0;
};

}  // namespace

char cheapest_step(const CheckpointProfile& ahead, const TogetherStart& start, double interval_s,
                   const StepBegun& begun) {
    const Prices prices(ahead, interval_s);
    TogetherModel model(ahead);
    const Moment now = model.begin(start);
    const double u = model.checkpoint_bytes();
    const double before = static_cast<double>(start.held_bytes) / u;
    Moment then;
    then.link_s = begun.busy_s;
    const double sunk_s = begun.ago_s - prices.excess_s(then, 0.0);

    char letter = 'U';
    double least_s = std::numeric_limits<double>::infinity();
    const bool holds = start.held_bytes > 0;
    if (!holds) {
        Moment sent = now;
        model.arrive(sent, 0, 0.0);
        model.queue(sent, u);
        least_s = prices.excess_s(sent, 1.0) + sunk_s;
    }
    Moment holding = now;
    double raw = static_cast<double>(start.held_bytes);
    double small = static_cast<double>(start.held_compressed_bytes);
    for (std::size_t end = 0; end < ahead.intervals_s.size(); ++end) {
        // The result takes the place of the raw bytes: only their temporary buffer needs room.
        if (!model.fits(raw + u, 0.0)) break;
        model.arrive(holding, end, raw);
        raw += u;
        small += model.compressed_bytes(end);
        Moment done = holding;
        model.compress(done, raw, 0.0);
        done.link_s += small / ahead.link_bytes_per_s;
        const double checkpoints = before + static_cast<double>(end + 1);
        double excess_s = prices.excess_s(done, checkpoints) + sunk_s;
        // What a large step loses is shared by all that it handles; what one wins comes once.
        if (excess_s > 0.0) excess_s /= checkpoints;
        if (excess_s <= least_s) {
            least_s = excess_s;
            letter = end > 0 ? 'A' : holds ? 'X' : 'C';
        }
    }
    return letter;
}

}  // namespace caesura::plan
