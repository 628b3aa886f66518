#include "run/write_policy.hpp"

#include <algorithm>
#include <limits>

namespace caesura::run {
namespace {

// Writes below this are dominated by their fixed cost (S0 §4.2: "under 1 MB are slow").
constexpr std::uint64_t k_small_write_bytes = 1u << 20;

// How many of the ready blocks from `first` on go into one write of at most `limit` bytes; at least
// one.
std::size_t gather(const WriteView& view, std::size_t first, std::uint64_t limit,
                   std::uint64_t& bytes) {
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
    std::uint64_t bytes = 0;
    if (view.draining || !view.planning)
        return {0, gather(view, 0, view.buffer_bytes, bytes), -1.0};
    if (view.application_writes) return {};

    // The free time from now to the next predicted obstacle. An obstacle that should be on but is
    // not (application_writes is false) has ended early or comes late; its predicted end bounds
    // how long it is respected.
    double free_s = std::numeric_limits<double>::infinity();
    double resume_s = view.now_s;
    for (const plan::Interval& obstacle : view.obstacles) {
        if (obstacle.end_s <= view.now_s) continue;
        free_s = std::max(0.0, obstacle.begin_s - view.now_s);
        resume_s = obstacle.end_s;
        break;
    }
    const bool impatient = view.oldest_wait_s > view.patience_s;
    std::size_t first = 0;
    while (first < view.ready_bytes.size() && free_s < view.cost.seconds(view.ready_bytes[first]))
        ++first;
    if (first == view.ready_bytes.size()) {
        if (!impatient) return {0, 0, resume_s};
        first = 0;
    }

    const double usable_s = std::max(0.0, free_s - view.cost.latency_s);
    const double usable_bytes =
        std::min(usable_s * view.cost.bytes_per_s, static_cast<double>(view.buffer_bytes));
    const std::size_t take = gather(view, first, static_cast<std::uint64_t>(usable_bytes), bytes);
    // A small write waits for company, unless all have come or what follows would not fit anyway.
    const bool company = view.more_coming && first + take == view.ready_bytes.size() &&
                         view.cost.seconds(2 * k_small_write_bytes) < free_s;
    if (bytes < k_small_write_bytes && company && !impatient) return {};
    return {first, take, -1.0};
}

}  // namespace caesura::run
