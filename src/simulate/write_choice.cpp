#include "simulate/write_choice.hpp"

#include <algorithm>

namespace caesura::simulate {
namespace {

// Sums of times that were planned exactly may differ in their last bits.
constexpr double k_rounding_s = 1e-9;

std::size_t gather(const WriteView& view, std::size_t first, double limit, double& bytes) {
    std::size_t take = 1;
    bytes = view.ready[first];
    while (first + take < view.ready.size() && bytes + view.ready[first + take] <= limit)
        bytes += view.ready[first + take++];
    return take;
}

}  // namespace

WriteChoice choose_write(const WriteView& view) {
    if (view.ready.empty()) return {};
    double bytes = 0.0;
    if (view.draining || !view.planning) return {0, gather(view, 0, view.buffer_bytes, bytes)};
    if (view.application_on) return {};
    const auto cost_s = [&view](double n) { return view.latency_s + n / view.bytes_per_s; };
    const bool impatient = view.oldest_wait_s >= view.patience_s;
    const double free_s = view.gap.free_s + k_rounding_s;
    std::size_t first = 0;
    const std::size_t candidates = view.in_order ? 1 : view.ready.size();
    while (first < candidates && free_s < cost_s(view.ready[first])) ++first;
    if (first == candidates) {
        const double tired_s = view.now_s + view.patience_s - view.oldest_wait_s;
        if (!impatient) return {0, 0, std::min(view.gap.resume_s, tired_s)};
        first = 0;
    }
    const double usable = std::max(0.0, free_s - view.latency_s) * view.bytes_per_s;
    const std::size_t take = gather(view, first, std::min(usable, view.buffer_bytes), bytes);
    // A small write waits for company, unless all have come or what follows would not fit anyway.
    const bool company = view.more_coming && first + take == view.ready.size() &&
                         cost_s(2.0 * view.small_bytes) < free_s;
    if (bytes < view.small_bytes && company && !impatient) return {};
    return {first, take};
}

}  // namespace caesura::simulate
