#include "run/compress_policy.hpp"

#include <limits>

namespace caesura::run {

CompressDecision decide_compress(const CompressView& view) {
    if (view.expected_s.empty() || view.application_computes) return {};
    double free_s = std::numeric_limits<double>::infinity(), resume_s = -1.0;
    for (const plan::Interval& obstacle : view.obstacles) {
        if (obstacle.end_s <= view.now_s) continue;
        free_s = obstacle.begin_s - view.now_s;
        resume_s = obstacle.end_s;
        break;
    }
    for (std::size_t i = 0; i < view.expected_s.size(); ++i)
        if (view.expected_s[i] <= free_s) return {i, -1.0};
    if (view.waited_s > view.patience_s) return {0, -1.0};
    return {{}, resume_s};
}

}  // namespace caesura::run
