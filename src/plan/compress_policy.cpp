#include "plan/compress_policy.hpp"

namespace caesura::plan {

CompressDecision decide_compress(const CompressView& view) {
    if (view.expected_s.empty() || view.application_computes) return {};
    for (std::size_t i = 0; i < view.expected_s.size(); ++i)
        if (view.expected_s[i] <= view.gap.free_s) return {i, -1.0};
    if (view.now_s >= view.patience_ends_s) return {0, -1.0};
    return {{}, view.gap.resume_s};
}

}  // namespace caesura::plan
