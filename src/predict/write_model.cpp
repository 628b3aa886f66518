// How long a write takes: a fixed cost plus a measured curve times a factor, learned while running.
//
// Invariants:
//  - Both are >= 0 and finite, and a prediction never falls when the bytes grow.
//  - The fit is always determined: two light anchor points lie on the present curve, scaled to fit
//    on average, so that writes of a single size keep the curve's shape and only scale it.
#include <algorithm>
#include <cmath>

#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr double k_memory = 0.95;         // weight of a write relative to the next: ~20 count
constexpr double k_anchor_weight = 0.02;  // of all writes
constexpr double k_anchor_bytes = 16.0e6;
constexpr double k_max_surprise = 5.0;  // one stalled write counts as at most this factor
constexpr double k_least_write_s = 1.0e-7;

}  // namespace

WriteModel::WriteModel(WriteCurve curve) : curve_(std::move(curve)) {}

void WriteModel::Sums::scale(double by) {
    for (double* sum : {&n, &w, &x, &xx, &t, &xt}) *sum *= by;
}

void WriteModel::Sums::add(double weight, double beyond, double time_s) {
    n += 1.0;
    w += weight;
    x += weight * beyond;
    xx += weight * beyond * beyond;
    t += weight * time_s;
    xt += weight * beyond * time_s;
}

double WriteModel::beyond_s(double bytes) const {
    return curve_.predict_s(bytes) - curve_.latency_s;
}

// Errors count relative to what a write of this size took when the machine was measured (or on an
// ordinary disk), so that small writes teach the latency. Not relative to the time seen: when the
// disk becomes slow, the fast writes of before would weigh more than the present ones.
double WriteModel::weight_of(double bytes) const {
    const double usual_s = std::max(k_least_write_s, curve_.predict_s(bytes));
    return 1.0 / (usual_s * usual_s);
}

double WriteModel::predict_s(std::uint64_t bytes) const {
    return latency_s_ + factor_ * beyond_s(static_cast<double>(bytes));
}

void WriteModel::add_anchors(Sums& sums) const {
    const double on_average = sums.t / (latency_s_ * sums.w + factor_ * sums.x);
    if (!std::isfinite(on_average)) return;
    for (const double bytes : {0.0, k_anchor_bytes}) {
        const double weight = std::min(weight_of(bytes), sums.w / sums.n);
        const double beyond = beyond_s(bytes);
        sums.add(k_anchor_weight * sums.n * weight, beyond,
                 on_average * (latency_s_ + factor_ * beyond));
    }
}

void WriteModel::learn(std::uint64_t bytes, double write_s) {
    if (!std::isfinite(write_s) || write_s < 0.0) return;
    const double expected_s = std::max(k_least_write_s, predict_s(bytes));
    double seen_s = std::max(write_s, k_least_write_s);
    // The first writes may lie anywhere; later ones are bounded, so that one stall does not decide.
    if (learned_ >= 3)
        seen_s = std::clamp(seen_s, expected_s / k_max_surprise, expected_s * k_max_surprise);
    sums_.scale(k_memory);
    sums_.add(weight_of(static_cast<double>(bytes)), beyond_s(static_cast<double>(bytes)), seen_s);
    ++learned_;
    solve();
}

void WriteModel::solve() {
    Sums s = sums_;
    add_anchors(s);
    const double determinant = s.w * s.xx - s.x * s.x;
    if (!(determinant > 1e-12 * s.w * s.xx)) return;
    double latency_s = (s.t * s.xx - s.x * s.xt) / determinant;
    double factor = (s.w * s.xt - s.x * s.t) / determinant;
    // At a bound the best fit lies on it: solve again for the other unknown.
    if (latency_s < 0.0) {
        latency_s = 0.0;
        factor = s.xt / s.xx;
    } else if (factor < 0.0) {
        factor = 0.0;
        latency_s = s.t / s.w;
    }
    if (!std::isfinite(latency_s) || !std::isfinite(factor)) return;
    latency_s_ = latency_s;
    factor_ = factor;
}

}  // namespace caesura::predict
