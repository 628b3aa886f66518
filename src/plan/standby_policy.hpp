// When work at normal priority must begin so that a dump is written by the time that was promised:
// a pure decision over plain numbers.
//
// Invariant: no clock, no thread: what a test says is what the standby thread does.
#pragma once

namespace caesura::plan {

/// What a thread at normal priority is counted on to get of a core that the application keeps busy.
inline constexpr double k_standby_share = 0.5;

struct StandbyView {
    double due_s = 0.0;            ///< everything is to be written by then
    double max_delay_s = 0.0;      ///< what was promised: due_s less the hand-over
    double compress_left_s = 0.0;  ///< CPU time that this dump and those before it still need
    double write_left_s = 0.0;
};

/// The latest moment to begin. Half a core is counted on, for compressing and for writing: on full
/// cores a thread at normal priority shares one with the application. Beside that a fifth of the
/// promise is kept for what is not expected.
constexpr double begin_by_s(const StandbyView& view) {
    constexpr double k_margin = 0.2;
    return view.due_s - k_margin * view.max_delay_s -
           (view.compress_left_s + view.write_left_s) / k_standby_share;
}

}  // namespace caesura::plan
