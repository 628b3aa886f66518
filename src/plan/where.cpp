#include "plan/where.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::plan {
namespace {

double around_s(const Candidate& candidate) {
    return candidate.to_device_s + candidate.queue_s + candidate.from_device_s;
}

bool can_take_it(const Candidate& candidate) { return std::isfinite(latency_s(candidate)); }

/// The least latency of the devices of which most is known.
std::optional<Where> best_of(std::span<const Candidate> candidates) {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
        if (!can_take_it(candidate)) continue;
        if (best == nullptr || candidate.known > best->known ||
            (candidate.known == best->known && latency_s(candidate) < latency_s(*best)))
            best = &candidate;
    }
    if (best == nullptr) return {};
    const double seconds = best->known == Known::nothing ? 0.0 : latency_s(*best);
    return Where{static_cast<std::size_t>(best - candidates.data()), seconds, false, seconds};
}

}  // namespace

double latency_s(const Candidate& candidate) { return around_s(candidate) + candidate.compute_s; }

// Another look at a device of which is known what it took.
bool Chooser::is_worth_it(double seconds, double best_s, std::uint64_t requests) const {
    const double gain_s = best_s - seconds / rules_.hoped_factor;
    return seconds - best_s < gain_s * static_cast<double>(requests);
}

// The trial that promises most, if as much may be lost as is to be feared.
std::optional<Where> Chooser::trial(std::span<const Candidate> candidates,
                                    const Where& best) const {
    std::optional<Where> found;
    double most_hope_s = 0.0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const Candidate& candidate = candidates[i];
        if (i == best.device || !can_take_it(candidate)) continue;
        const bool is_new = candidate.known == Known::nothing;
        const double surprise_s = is_new ? rules_.untried_factor * best.best_s : 0.0;
        const double feared_s = around_s(candidate) + std::max(candidate.compute_s, surprise_s);
        const double hoped_s = candidate.known == Known::other_sizes
                                   ? around_s(candidate) + candidate.hoped_s
                                   : feared_s;
        const bool has_waited = devices_[i].passed_over >= devices_[i].patience;
        if (!is_new && !has_waited &&
            (candidate.known == Known::like_sizes || hoped_s > best.best_s))
            continue;
        if (candidate.known == Known::like_sizes &&
            !is_worth_it(feared_s, best.best_s, devices_[i].patience))
            continue;
        const double loss_s = std::max(0.0, feared_s - best.best_s);
        if (loss_s > 0.0 && lost_s_ + loss_s > allowed_loss_s()) continue;
        if (found && most_hope_s <= hoped_s) continue;
        most_hope_s = hoped_s;
        const bool again = candidate.known == Known::like_sizes;
        found = Where{i, is_new ? 0.0 : feared_s, true, best.best_s, loss_s, again};
    }
    return found;
}

std::optional<Where> Chooser::choose(std::span<const Candidate> candidates) {
    devices_.resize(std::max(devices_.size(), candidates.size()), Device{0, rules_.stale_requests});
    auto chosen = best_of(candidates);
    if (!chosen) return {};
    if (chosen->best_s > 0.0)
        if (const auto tried = trial(candidates, *chosen)) chosen = tried;
    for (Device& device : devices_) ++device.passed_over;
    Device& device = devices_[chosen->device];
    device.passed_over = 0;
    constexpr std::uint64_t k_most_patience = std::uint64_t{1} << 20;
    if (chosen->is_again)
        device.patience = std::min(2 * device.patience, k_most_patience);
    else if (!chosen->is_trial)
        device.patience = rules_.stale_requests;
    lost_s_ += chosen->expected_loss_s;  // till it is known
    return chosen;
}

void Chooser::done(const Where& where, double took_s) {
    served_s_ += took_s;
    if (where.is_trial) lost_s_ += std::max(0.0, took_s - where.best_s) - where.expected_loss_s;
}

void Chooser::withdrawn(const Where& where) { lost_s_ -= where.expected_loss_s; }

}  // namespace caesura::plan
