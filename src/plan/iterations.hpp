// What past iterations say of the next one. Kinds of iterations are told apart by the application's
// label and by whether a dump was on its way: a regrid every k-th has other obstacles than the
// rest.
//
// Invariants:
//  - Plain numbers, no clock: the same calls give the same expectation.
//  - Bounded however the application labels: k_kinds kinds of k_kept iterations, k_history labels.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "plan/schedule.hpp"

namespace caesura::plan {

/// One iteration, or what is expected of one; seconds since its begin.
struct IterationRecord {
    Obstacles obstacles;
    double length_s = 0.0;
};

class IterationHistory {
  public:
    static constexpr std::size_t k_kinds = 16;    // the least recently seen goes
    static constexpr std::size_t k_kept = 3;      // of each kind: one odd iteration is outvoted
    static constexpr std::size_t k_history = 64;  // labels looked at to predict the next

    /// The iteration that has just been. @param after_dump  was a dump handed over before it?
    void add(std::string_view label, bool after_dump, IterationRecord record);
    /// Say again what the last add() said, better known by now.
    void update_last(IterationRecord record);

    /// The label that came next the last time things were as now: of all earlier moments the one
    /// whose labels before it agree with today's the longest, the latest of these. If the current
    /// label is new, the most frequent one. Empty without history.
    std::string_view next_label() const { return after({}); }
    /// The same as if `then` had come already.
    std::string_view label_after(std::string_view then) const { return after(then); }

    /// Element by element the median of the last iterations of that kind that agree on how many
    /// obstacles there are (most of them, or else the last one), with the spread of what their
    /// obstacles' distances have been. A kind not seen yet: the same label without regard to dumps.
    /// A label not seen yet: the kind seen last, if possible one alike in regard to dumps. nullptr
    /// only without history.
    const IterationRecord* expect(std::string_view label, bool after_dump) const;

  private:
    struct Kind {
        std::string label;
        bool after_dump = false;
        std::deque<IterationRecord> records;  // the last is the newest
        IterationRecord expected;
        std::uint64_t seen = 0;
    };
    std::string_view after(std::string_view then) const;
    const Kind* find(std::string_view label, bool after_dump) const;

    std::deque<std::string> labels_;
    std::vector<Kind> kinds_;
    std::size_t last_kind_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace caesura::plan
