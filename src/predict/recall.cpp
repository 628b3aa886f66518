// Sizes without looking: of a block whose size hardly moves from dump to dump, the last one says
// enough. What it costs to be wrong is known (sizes are learned whether anybody looked or not), and
// so is what it costs to look: about as long as compressing an easy block, on the application's
// thread.
//
// Invariants:
//  - A size that jumps while nobody looks is seen at once, unclipped: the spread then exceeds what
//    is tolerated, and the field's blocks are looked at until it has settled.
//  - Nothing that is learned here touches what is known of guesses.
#include <algorithm>
#include <cmath>

#include "predict/learning.hpp"
#include "predict/predict.hpp"
#include "predict/size_guess.hpp"

namespace caesura::predict {
namespace {

// What a look could save is not worth it below these. A region of the file is whole pages.
constexpr double k_page_bytes = 4096.0;
constexpr double k_tolerated_share = 0.01;
// Nor where a look errs as much itself: it must halve the error to be worth its time. What is
// recalled is reserved for at three of its spreads, so this ends where looks are bad.
constexpr double k_worth_a_look = 2.0, k_most_tolerated_share = 0.03;

constexpr double k_prior_steps = 4.0;   // how many steps the prior spread is worth
constexpr double k_least_step = 0.003;  // no field is more regular than this
// In bits of a value: a glance sees a few thousand values, and less than ten of them changing by a
// bit is chance.
constexpr double k_activity_floor = 1.0 / 256;

// Settings are chosen anew as often as this, and where more or less goes on by this share. Looks at
// a field's blocks take turns: the cost of choosing is spread over dumps.
constexpr std::uint64_t k_settings_dumps = 8;
constexpr double k_settings_change = 0.125;

// How much more goes on in one of two than in the other, as a share.
double change_of(double activity, double other) {
    const auto [less, more] = std::minmax(activity, other);
    return (more + k_activity_floor) / (less + k_activity_floor) - 1.0;
}

}  // namespace

// Known from a few steps only: the variance of Student's distribution.
double SizeModel::recall_var() const {
    const double freedom = k_prior_steps + static_cast<double>(size_steps_);
    return size_step_var_ * freedom / (freedom - 2.0);
}

std::optional<Features> SizeModel::recall(std::uint64_t block, std::uint64_t values,
                                          double activity) const {
    const auto found = past_.find(block);
    if (found == past_.end() || size_steps_ == 0 || !(activity >= 0.0)) return {};
    const Past& was = found->second;
    if (!(was.activity >= 0.0) || was.values != values) return {};
    const double bytes = std::exp(was.log_size) * static_cast<double>(values);
    const double look_share = k_worth_a_look * std::sqrt(look_var(bytes, values));
    const double share = std::clamp(look_share, k_tolerated_share, k_most_tolerated_share);
    const double tolerated = std::max(k_page_bytes, share * bytes);
    if (bytes * std::sqrt(recall_var()) > tolerated) return {};
    if (bytes * change_of(activity, was.activity) > tolerated) return {};
    Features features;
    features.block = block;
    features.values = values;
    features.mode = was.mode;
    features.adaptive = was.adaptive;
    features.activity = activity;
    features.recalled = true;
    return features;
}

// Sizes move with the field, so blocks are not taken to be independent. Beside that each is allowed
// the page that not looking may cost: steps of small blocks are uneven, and a few even ones in a
// row say little about the next.
Bytes SizeModel::recalled(const Features& features) const {
    const double raw = raw_bytes(features);
    const auto found = past_.find(features.block);
    if (found == past_.end()) return {raw, 0.0, 0.0};
    const double var = std::min(1.0, recall_var());
    const double mean = std::min(
        raw, std::exp(found->second.log_size + 0.5 * var) * static_cast<double>(features.values));
    const double shared = mean * std::sqrt(std::expm1(var));
    return {mean, std::hypot(shared, k_page_bytes), shared};
}

void SizeModel::learn_size(const Features& features, double log_size) {
    const auto found = features.block == k_no_block ? past_.end() : past_.find(features.block);
    if (found == past_.end()) return;
    Past& was = found->second;
    const double remembered = k_remembered_dumps * static_cast<double>(past_.size());
    const double gain = 1.0 / std::min(std::max(remembered, k_prior_steps),
                                       static_cast<double>(size_steps_) + k_prior_steps);
    const double seen = square(log_size - was.log_size);
    size_step_var_ =
        std::max(square(k_least_step), size_step_var_ + gain * (seen - size_step_var_));
    ++size_steps_;
    was.log_size = log_size;
    was.values = features.values;
    was.activity = features.activity;
}

std::optional<codec::Choice> SizeModel::settings(std::uint64_t block, std::uint64_t values,
                                                 double activity) const {
    const auto found = past_.find(block);
    if (found == past_.end() || !serves(found->second, values, activity)) return {};
    return found->second.settings;
}

bool SizeModel::serves(const Past& was, std::uint64_t values, double activity) {
    if (!(activity >= 0.0) || !(was.settings_activity >= 0.0) || was.values != values) return false;
    return was.settings_age < k_settings_dumps &&
           change_of(activity, was.settings_activity) <= k_settings_change;
}

// The first time blocks are of different ages, so that they are not all asked again at once.
void SizeModel::keep_settings(const Features& features, const Past* was, Past& now) const {
    now.settings = features.settings;
    const bool are_own = was != nullptr && serves(*was, features.values, features.activity);
    if (features.assumed && are_own) {
        now.settings_age = was->settings_age + 1;
        now.settings_activity = was->settings_activity;
    } else {
        now.settings_age = was == nullptr ? features.block % k_settings_dumps : 0;
        now.settings_activity = features.activity;
    }
}

// In the first dump, and where a field changes fast, all blocks would be asked for what the codec
// chooses, which is most of what a look costs. Blocks of a field in which as much goes on are
// alike.
std::optional<codec::Choice> Looks::settings(std::uint64_t block, std::uint64_t values,
                                             double activity) const {
    if (auto own = sizes_.settings(block, values, activity)) return own;
    for (const Features& asked : asked_)
        if (asked.values == values && change_of(activity, asked.activity) <= k_settings_change)
            return asked.settings;
    return {};
}

Features Looks::look(std::uint64_t block, std::uint64_t values, const std::byte* data, DType dtype,
                     const Box& array_box, const Box& part, const ErrorBound& bound,
                     const LookClosely& closely) {
    const auto activity = glance(data, dtype, array_box, part, bound);
    if (activity)
        if (auto recalled = sizes_.recall(block, values, *activity)) return *recalled;
    Features features = closely(activity ? settings(block, values, *activity) : std::nullopt);
    features.block = block;
    features.values = values;
    features.activity = activity.value_or(-1.0);
    if (activity && !features.assumed && features.settings && asked_.size() < k_most_asked)
        asked_.push_back(features);
    return features;
}

}  // namespace caesura::predict
