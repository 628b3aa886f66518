#include "writer/outcomes.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::writer {

void Outcomes::submitted(std::uint64_t dump) { open_.push_back({dump}); }

void Outcomes::iteration_began(double now_s) {
    for (Outcome& outcome : open_)
        if (outcome.begin_s < 0.0) outcome.begin_s = now_s;
}

void Outcomes::iteration_ended(double now_s) {
    for (Outcome& outcome : open_)
        if (outcome.begin_s >= 0.0 && outcome.end_s < 0.0) outcome.end_s = now_s;
    fold();
}

void Outcomes::dump_ended(std::uint64_t dump, double expected_iteration_s, double planned_end_s,
                          double end_s) {
    for (Outcome& outcome : open_) {
        if (outcome.dump != dump) continue;
        outcome.expected_s = expected_iteration_s;
        outcome.planned_end_s = planned_end_s;
        outcome.written_s = end_s;
    }
    fold();
}

void Outcomes::fold() {
    std::erase_if(open_, [&](const Outcome& o) {
        if (o.end_s < 0.0 || o.written_s < 0.0) return false;
        if (!(o.expected_s > 0.0)) return true;
        const double planned_end_s = o.planned_end_s - o.begin_s;
        const double actual_end_s = o.written_s - o.begin_s;
        const double planned_s = std::max(o.expected_s, planned_end_s);
        const double actual_s = std::max(o.end_s - o.begin_s, actual_end_s);
        planned_end_s_ += planned_end_s;
        actual_end_s_ += actual_end_s;
        planned_iteration_s_ += planned_s;
        actual_iteration_s_ += actual_s;
        deviations_.push_back(std::abs(actual_s / planned_s - 1.0));
        return true;
    });
}

double Outcomes::deviation() const {
    if (deviations_.empty()) return 0.0;
    std::vector<double> sorted = deviations_;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

}  // namespace caesura::writer
