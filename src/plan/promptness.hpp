// How soon what was handed over is compressed at normal priority: pure decisions over plain
// numbers. The application's pauses are waited for as long as they are expected to do the work.
//
// Invariants:
//  - What no pause of the next half interval will do is begun at once: the application pays for it
//    whenever it is done.
//  - Work that pauses can do is left to them, for an interval between dumps at most. If it is less
//    than a hundredth of the interval, half of that.
//  - What was promised, max_delay, is the outer limit.
#pragma once

#include <algorithm>
#include <limits>

namespace caesura::plan {

/// What is known when a dump is handed over.
struct PromptView {
    double work_s = 0.0;  ///< CPU time of its compressions and time of its writes
    /// Between the last two dumps; infinity: this is the first.
    double interval_s = std::numeric_limits<double>::infinity();
    /// CPU seconds a second that the pauses have had for this rank; < 0: not known.
    double pauses = -1.0;
    double most_s = std::numeric_limits<double>::infinity();  ///< by then it is to be written
};

/// Counted from the hand-over of a dump.
struct Promptness {
    double not_before_s = 0.0;  ///< nothing is begun at normal priority before that
    double by_s = std::numeric_limits<double>::infinity();  ///< it should be written
    double pauses = 0.0;  ///< CPU seconds a second that are counted on until then
};

inline Promptness promptness(const PromptView& view) {
    constexpr double k_unknown_s = 0.5, k_cheap = 0.01, k_soon = 0.5;
    Promptness prompt;
    if (view.pauses < 0.0 || view.interval_s == std::numeric_limits<double>::infinity()) {
        prompt.not_before_s = prompt.by_s = std::min(k_unknown_s, view.most_s);
        return prompt;
    }
    prompt.pauses = view.pauses;
    const bool is_cheap = view.work_s <= k_cheap * view.interval_s;
    const bool is_done_by_pauses = view.pauses * view.interval_s >= view.work_s;
    const double share = is_cheap || !is_done_by_pauses ? k_soon : 1.0;
    prompt.by_s = std::min(share * view.interval_s, view.most_s);
    return prompt;
}

/// So many seconds after the hand-over the standby thread takes the next block: from then on pauses
/// are too short for what is left. 0: at once.
/// @param left_s  of this dump, and of those before it, which are done first.
inline double take_over_s(const Promptness& prompt, double left_s) {
    if (left_s <= 0.0) return std::numeric_limits<double>::infinity();
    const double by_pauses_s =
        prompt.pauses > 0.0 ? left_s / prompt.pauses : std::numeric_limits<double>::infinity();
    if (prompt.by_s == std::numeric_limits<double>::infinity()) return prompt.by_s;
    return std::max(prompt.not_before_s, prompt.by_s - by_pauses_s);
}

}  // namespace caesura::plan
