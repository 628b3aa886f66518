// What was planned of each dump beside what became of it.
//
// Invariants:
//  - Belongs to the application's thread; times are the clock's seconds.
//  - A dump counts once both it and the iteration after it are over, and only if something was
//    expected of that iteration.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace caesura::writer {

class Outcomes {
  public:
    void submitted(std::uint64_t dump);
    void iteration_began(double now_s);
    void iteration_ended(double now_s);
    /// @param expected_iteration_s  how long the plan took the iteration after it to be; 0: nothing
    /// was known.
    /// @param planned_end_s, end_s  of the last write.
    void dump_ended(std::uint64_t dump, double expected_iteration_s, double planned_end_s,
                    double end_s);

    /// Over the dumps that count, since the begin of the iteration after each. An iteration is over
    /// when the application and the lanes are done (S0: max of both).
    std::uint64_t dumps() const { return deviations_.size(); }
    double planned_end_s() const { return planned_end_s_; }
    double actual_end_s() const { return actual_end_s_; }
    double planned_iteration_s() const { return planned_iteration_s_; }
    double actual_iteration_s() const { return actual_iteration_s_; }
    /// Median of |actual / planned - 1| over their iterations; 0 without dumps.
    double deviation() const;

  private:
    struct Outcome {
        std::uint64_t dump = 0;
        double expected_s = 0.0;
        double begin_s = -1.0, end_s = -1.0;  // of the iteration after the dump; < 0: not yet
        double planned_end_s = 0.0, written_s = -1.0;
    };
    void fold();

    std::deque<Outcome> open_;
    double planned_end_s_ = 0.0, actual_end_s_ = 0.0;
    double planned_iteration_s_ = 0.0, actual_iteration_s_ = 0.0;
    std::vector<double> deviations_;
};

}  // namespace caesura::writer
