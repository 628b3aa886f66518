// How long a write takes: a fixed cost plus a cost per byte, learned while running.
//
// Invariants:
//  - Both costs are >= 0 and finite, and a prediction never falls when the bytes grow.
//  - The fit is always determined: two light anchor points lie on the present line, scaled to fit
//    on average, so that writes of a single size keep the line's shape and only scale it.
#include <algorithm>
#include <cmath>

#include "caesura/predict.hpp"

namespace caesura::predict {
namespace {

constexpr double k_memory = 0.95;         // weight of a write relative to the next: ~20 count
constexpr double k_anchor_weight = 0.02;  // of all writes
constexpr double k_anchor_bytes = 16.0e6;
constexpr double k_max_surprise = 5.0;  // one stalled write counts as at most this factor
constexpr double k_least_s = 1.0e-7;

// Errors count relative to what a write of this size takes on an ordinary disk, so that small
// writes teach the latency. Not relative to the time seen: when the disk becomes slow, the fast
// writes of before would weigh more than the present ones.
double weight_of(double bytes) {
    const double ordinary_s = 1.0e-3 + 1.0e-9 * bytes;
    return 1.0 / (ordinary_s * ordinary_s);
}

}  // namespace

void WriteModel::Sums::scale(double factor) {
    for (double* sum : {&n, &w, &x, &xx, &t, &xt}) *sum *= factor;
}

void WriteModel::Sums::add(double weight, double bytes, double time_s) {
    n += 1.0;
    w += weight;
    x += weight * bytes;
    xx += weight * bytes * bytes;
    t += weight * time_s;
    xt += weight * bytes * time_s;
}

double WriteModel::predict_s(std::uint64_t bytes) const {
    return latency_s_ + s_per_byte_ * static_cast<double>(bytes);
}

void WriteModel::add_anchors(Sums& sums) const {
    const double on_average = sums.t / (latency_s_ * sums.w + s_per_byte_ * sums.x);
    for (const double bytes : {0.0, k_anchor_bytes}) {
        const double weight = std::min(weight_of(bytes), sums.w / sums.n);
        sums.add(k_anchor_weight * sums.n * weight, bytes,
                 on_average * (latency_s_ + s_per_byte_ * bytes));
    }
}

void WriteModel::learn(std::uint64_t bytes, double write_s) {
    if (!std::isfinite(write_s) || write_s < 0.0) return;
    const double expected_s = std::max(k_least_s, predict_s(bytes));
    double seen_s = std::max(write_s, k_least_s);
    // The first writes may lie anywhere; later ones are bounded, so that one stall does not decide.
    if (learned_ >= 3)
        seen_s = std::clamp(seen_s, expected_s / k_max_surprise, expected_s * k_max_surprise);
    sums_.scale(k_memory);
    sums_.add(weight_of(static_cast<double>(bytes)), static_cast<double>(bytes), seen_s);
    ++learned_;
    solve();
}

void WriteModel::solve() {
    Sums s = sums_;
    add_anchors(s);
    const double determinant = s.w * s.xx - s.x * s.x;
    if (!(determinant > 1e-12 * s.w * s.xx)) return;
    double latency_s = (s.t * s.xx - s.x * s.xt) / determinant;
    double s_per_byte = (s.w * s.xt - s.x * s.t) / determinant;
    // At a bound the best fit lies on it: solve again for the other unknown.
    if (latency_s < 0.0) {
        latency_s = 0.0;
        s_per_byte = s.xt / s.xx;
    } else if (s_per_byte < 0.0) {
        s_per_byte = 0.0;
        latency_s = s.t / s.w;
    }
    if (!std::isfinite(latency_s) || !std::isfinite(s_per_byte)) return;
    latency_s_ = latency_s;
    s_per_byte_ = s_per_byte;
}

}  // namespace caesura::predict
