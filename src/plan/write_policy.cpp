#include "plan/write_policy.hpp"

#include <algorithm>

namespace caesura::plan {
namespace {

// How many of the ready blocks from `first` on go into one write of at most `limit` bytes; at least
// one.
std::size_t gather(const WriteView& view, std::size_t first, double limit, double& bytes) {
    std::size_t take = 1;
    bytes = view.ready_bytes[first];
    while (first + take < view.ready_bytes.size() &&
           bytes + view.ready_bytes[first + take] <= limit)
        bytes += view.ready_bytes[first + take++];
    return take;
}

}  // namespace

WriteDecision decide_write(const WriteView& view) {
    if (view.ready_bytes.empty()) return {};
    double bytes = 0.0;
    if (view.draining || !view.planning)
        return {0, gather(view, 0, view.buffer_bytes, bytes), -1.0};
    if (view.application_writes) return {};

    // An obstacle that should be on but is not (application_writes is false) has ended early or
    // comes late; its predicted end bounds how long it is respected.
    const double free_s = std::max(0.0, view.gap.free_s);
    const bool impatient = view.oldest_wait_s >= view.patience_s;
    const std::size_t candidates = view.in_order ? 1 : view.ready_bytes.size();
    std::size_t first = 0;
    while (first < candidates && free_s < view.cost.seconds(view.ready_bytes[first])) ++first;
    if (first == candidates) {
        if (!impatient) return {0, 0, view.gap.resume_s};
        first = 0;
    }

    const double usable_s = std::max(0.0, free_s - view.cost.latency_s);
    const double usable_bytes = std::min(usable_s * view.cost.bytes_per_s, view.buffer_bytes);
    const std::size_t take = gather(view, first, usable_bytes, bytes);
    // A small write waits for company, unless all have come or what follows would not fit anyway.
    const bool company = view.more_coming && first + take == view.ready_bytes.size() &&
                         view.cost.seconds(2 * view.small_bytes) < free_s;
    if (bytes < view.small_bytes && company && !impatient) return {};
    return {first, take, -1.0};
}

}  // namespace caesura::plan
