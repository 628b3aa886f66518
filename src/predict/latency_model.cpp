#include "predict/latency_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "predict/fit.hpp"

namespace caesura::predict {
namespace {

// Of each power of two of bytes, so that a time without large data does not wipe out what is known
// of them.
constexpr std::ptrdiff_t k_remembered = 24;
constexpr double k_first_spread = 0.3;
constexpr double k_spread_gain = 0.1;
constexpr double k_like_size = 2.0;  // a run of up to so many times more or fewer bytes
// So many runs in a row beyond the spread, all to one side, are another level. A stall is one run,
// and what the load does to it the fit has seen.
constexpr std::size_t k_runs_of_a_new_level = 3;
constexpr double k_new_level_spreads = 3.0;
constexpr double k_least_new_level = 0.4;  // of ln(seen / predicted): half as much again

// S4: above a utilisation of 0.7 a run takes twice as long.
constexpr double k_usual_load = 3.0, k_most_load = 30.0;

constexpr double k_least_s = 1e-9;

double middle(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

// Sizes as shares of 1 MiB: their squares stay near 1.
constexpr double k_unit_bytes = 1024.0 * 1024.0;

}  // namespace

LatencyModel::LatencyModel() : load_(k_usual_load) { fit_busy(); }

LatencyModel::Terms LatencyModel::terms_of(double bytes) {
    const double size = bytes / k_unit_bytes;
    return {1.0, size, size * size};
}

double LatencyModel::idle_s(double bytes) const {
    const Terms terms = terms_of(bytes);
    double seconds = 0.0;
    for (std::size_t i = 0; i < k_terms; ++i) seconds += coefficients_[i] * terms[i];
    return seconds;
}

double LatencyModel::slowdown(double utilisation) const {
    const double at = utilisation * (k_busy - 1);
    const auto low = std::min(static_cast<std::size_t>(at), k_busy - 2);
    const double share = at - static_cast<double>(low);
    return std::exp(busy_[low] + share * (busy_[low + 1] - busy_[low]));
}

double LatencyModel::level(double bytes, double utilisation) const {
    return std::max(k_least_s, idle_s(bytes)) * slowdown(utilisation);
}

void LatencyModel::learn(double bytes, double utilisation, double seconds) {
    if (!(bytes >= 0.0 && std::isfinite(bytes) && seconds > 0.0 && std::isfinite(seconds))) return;
    utilisation = utilisation >= 0.0 ? std::min(utilisation, 1.0) : 0.0;  // also NaN
    const int magnitude = std::ilogb(std::max(1.0, bytes));
    if (const auto expected = predict(bytes, utilisation))
        follow(std::log(seconds / expected->seconds), magnitude);
    const auto alike = [&](const Run& run) { return run.magnitude == magnitude; };
    if (std::count_if(last_.begin(), last_.end(), alike) >= k_remembered)
        last_.erase(std::find_if(last_.begin(), last_.end(), alike));
    last_.push_back({bytes, utilisation, seconds, magnitude});
    ++seen_;
    // Each on what the other said of the runs before.
    fit_sizes();
    fit_load();
    fit_busy();
}

// A device that has become slower, or faster, keeps its curve: older runs are moved to the new
// level, and so go on to say what size and load do. Where all that surprises is of one size, it is
// held against what that size took before: the curve may bend there, which is nothing new.
void LatencyModel::follow(double surprise, int magnitude) {
    const double odd = std::max(k_least_new_level, k_new_level_spreads * spread_);
    const bool turned =
        !surprises_.empty() && (surprises_.back().log_ratio > 0.0) != (surprise > 0.0);
    if (turned || std::fabs(surprise) <= odd) surprises_.clear();
    if (std::fabs(surprise) > odd) surprises_.push_back({surprise, magnitude});
    if (surprises_.size() < k_runs_of_a_new_level) {
        const double counted = std::min(std::fabs(surprise), odd);
        const double before = seen_ > 1 ? spread_ : k_first_spread;
        spread_ =
            std::sqrt((1.0 - k_spread_gain) * before * before + k_spread_gain * counted * counted);
        return;
    }
    // The surprises but this one are the last runs, and of the new level already.
    const std::size_t old = last_.size() - std::min(last_.size(), surprises_.size() - 1);
    std::vector<double> new_ratios;
    for (const Surprise& one : surprises_) new_ratios.push_back(one.log_ratio);
    double change = middle(new_ratios);
    if (std::all_of(surprises_.begin(), surprises_.end(),
                    [&](const Surprise& one) { return one.magnitude == magnitude; })) {
        std::vector<double> old_ratios;
        for (std::size_t i = 0; i < old; ++i)
            if (const Run& run = last_[i]; run.magnitude == magnitude)
                old_ratios.push_back(std::log(run.seconds / level(run.bytes, run.utilisation)));
        change = old_ratios.empty() ? 0.0 : change - middle(old_ratios);
    }
    surprises_.clear();
    if (std::fabs(change) <= odd) return;
    for (std::size_t i = 0; i < old; ++i) last_[i].seconds *= std::exp(change);
}

// A few noisy runs would be explained by any term, and a wrong one errs by magnitudes at other
// sizes: each is let in when there are enough runs to tell it from those before it. Most functions
// take as long as they have bytes, so that is the first.
void LatencyModel::fit_sizes() {
    constexpr std::size_t k_runs_for_fixed = 4, k_runs_for_square = 24;
    const bool bytes_alone = last_.size() < k_runs_for_fixed;
    const std::size_t terms = bytes_alone ? 1 : last_.size() < k_runs_for_square ? 2 : k_terms;
    std::vector<std::vector<double>> rows;
    rows.reserve(last_.size());
    for (const Run& run : last_) {
        const Terms all = terms_of(run.bytes);
        const auto first = all.begin() + (bytes_alone ? 1 : 0);
        std::vector<double>& row = rows.emplace_back(first, first + terms);
        for (double& term : row) term *= slowdown(run.utilisation) / run.seconds;
    }
    const std::vector<double> found = fit_nonnegative(rows, terms);
    coefficients_ = {};
    std::copy(found.begin(), found.end(), coefficients_.begin() + (bytes_alone ? 1 : 0));
}

// The load that the runs say, and what is usual where they have seen none.
void LatencyModel::fit_load() {
    // Where all runs were under one load, any load explains them with other times of an idle
    // device.
    const double usual_counts_runs = 2.0 + 0.05 * static_cast<double>(last_.size());
    const auto errors = [&](double load) {
        // Less what is common to all: that is the sizes' to explain, which are fitted next.
        std::vector<double> off;
        for (const Run& run : last_) {
            const double busy = run.utilisation * run.utilisation * run.utilisation;
            const double expected_s = std::max(k_least_s, idle_s(run.bytes)) * (1.0 + load * busy);
            off.push_back(std::log(expected_s / run.seconds));
        }
        const double common = middle(off);
        double sum = usual_counts_runs * std::fabs(std::log((1.0 + load) / (1.0 + k_usual_load)));
        for (const double one : off) sum += std::fabs(one - common);
        return sum;
    };
    double best = load_, least = errors(load_);
    for (double load = 0.0; load <= k_most_load; load = 1.25 * load + 0.1)
        if (const double sum = errors(load); sum < least) {
            least = sum;
            best = load;
        }
    load_ = best;
}

// What runs near each of some utilisations took beyond the cubic, as far as there are many; it
// rises.
void LatencyModel::fit_busy() {
    constexpr double k_cubic_counts_runs = 3.0;
    std::array<std::vector<double>, k_busy> beyond;
    const auto cubic = [&](double utilisation) {
        return std::log(1.0 + load_ * utilisation * utilisation * utilisation);
    };
    for (const Run& run : last_) {
        const auto near = static_cast<std::size_t>(run.utilisation * (k_busy - 1) + 0.5);
        beyond[near].push_back(std::log(run.seconds / std::max(k_least_s, idle_s(run.bytes))) -
                               cubic(run.utilisation));
    }
    double last = 0.0;
    for (std::size_t i = 1; i < k_busy; ++i) {
        const double n = static_cast<double>(beyond[i].size());
        const double more =
            beyond[i].empty() ? 0.0 : middle(beyond[i]) * n / (n + k_cubic_counts_runs);
        last = busy_[i] = std::max(last, cubic(static_cast<double>(i) / (k_busy - 1)) + more);
    }
}

std::optional<LatencyModel::Latency> LatencyModel::predict(double bytes, double utilisation) const {
    if (last_.empty() || !(bytes >= 0.0)) return {};
    utilisation = std::clamp(utilisation, 0.0, 1.0);
    Latency latency{level(bytes, utilisation), seen_ > 1 ? spread_ : k_first_spread};
    if (!std::isfinite(latency.seconds)) return {};
    double largest = 0.0;
    for (const Run& run : last_) {
        latency.near_runs |= run.bytes * k_like_size >= bytes && run.bytes <= bytes * k_like_size;
        largest = std::max(largest, run.bytes);
    }
    latency.least_s = std::min(latency.seconds, level(largest, utilisation));
    return latency;
}

}  // namespace caesura::predict
