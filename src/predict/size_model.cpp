// What a field's finished blocks teach about sizes: how the codec's compare with the sampled guess.
//
// All in logarithms: r = ln(stored / guessed). Two things are known of a block to come: what r was
// for the field (a scalar Kalman filter with learned noise), and what it was for this very block in
// the dump before. The latter is far better where it exists: the same places are sampled in every
// dump, so that what the sample leaves out is nearly the same, and cancels.
//
// Invariants:
//  - A prediction is finite, >= 0 and at most the raw bytes, whatever was learned.
//  - One block, however odd, moves the field by no more than k_most_sigmas of what was expected;
//    its own next prediction follows it at once, with a wide spread.
//  - What was not looked at (Features::recalled) teaches nothing of guesses; recall.cpp has what it
//    does teach.
#include <algorithm>
#include <cmath>

#include "predict/learning.hpp"
#include "predict/predict.hpp"
#include "predict/size_guess.hpp"

namespace caesura::predict {
namespace {

constexpr double k_least_noise_gain = 0.05;
constexpr double k_prior_blocks = 4.0;  // how many blocks the prior spread is worth
constexpr double k_drift = 0.02;        // a field's factor moves so far between dumps
constexpr double k_most_sigmas = 4.0;
constexpr double k_doubt = 0.25;      // share of a block's odd step that may come back
constexpr double k_doubt_left = 0.5;  // of it, one dump later
constexpr double k_most_spread = 0.4;
constexpr double k_most_var = 1.0;
constexpr std::uint64_t k_trusted_blocks = 3;  // learned before one block can be called odd
constexpr double k_shared_prior_weight = 4.0;  // dumps

// What a sample leaves unsaid is so many bits per value, whatever their number: as a share of the
// size it grows as these get fewer. Found over ratios from 2 to 200, with every codec. Without loss
// it is at least 2 %: how the low bytes of values compress differs from place to place.
// Source: S1-Eq3, which reserves four times the extra space above ratio 32. Differs: no step.
double sample_scale(bool exact, double bits_per_value) {
    const double least = exact ? 0.5 : 1.0 / 8.0;
    return std::clamp(1.0 / std::max(bits_per_value, 1e-9), least, 8.0);
}

// What a codec does that is not followed (its lossless stage) is a share of the size, which grows
// slowly where there is little else.
double codec_scale(double bits_per_value) {
    return std::clamp(1.0 / std::sqrt(std::max(bits_per_value, 1e-9)), 1.0, 2.5);
}

// Of ln(stored / guessed) of a field's blocks, which are guessed by the codec's own steps or not.
double field_scale(const Features& features, bool followed, double bits_per_value) {
    return followed ? sample_scale(features.exact, bits_per_value) : codec_scale(bits_per_value);
}

}  // namespace

SizeModel::SizeModel(std::string_view codec_name, DType dtype)
    : family_(family_of(codec_name)), value_bits_(8.0 * static_cast<double>(size_of(dtype))) {
    const Priors priors = priors_of(family_, family_ == Family::own);
    mean_var_ = square(priors.field);
    noise_var_ = square(priors.block);
    step_var_ = square(priors.step);
    size_step_var_ = square(k_size_step);
}

double SizeModel::raw_bytes(const Features& features) const {
    return static_cast<double>(features.values) * value_bits_ / 8.0;
}

// What is taken as a block's guess, where its r is expected, and the variances of what the field's
// blocks have in common and of what is the block's own.
SizeModel::Expected SizeModel::expect(const Features& features, const Guess& guess) const {
    const Priors priors = priors_of(family_, features.estimated);
    const auto values = static_cast<double>(features.values);
    const auto beyond = [&](double distance, double bits) {  // the regime of r is left
        return square(codec_scale(bits) *
                      std::min(k_most_spread, priors.beyond * std::max(0.0, distance)));
    };
    const auto past = features.block == k_no_block ? past_.end() : past_.find(features.block);
    if (past != past_.end() && past->second.finite == features.finite) {
        const Past& was = past->second;
        const double bytes = guess.by_way[was.way];
        const double bits = 8.0 * bytes * std::exp(was.log_ratio) / values;
        const double scale = sample_scale(features.exact, bits);
        // The variance itself is known from a few steps only: that of Student's distribution.
        const double freedom = k_prior_blocks + static_cast<double>(steps_);
        const double step_var = square(scale) * step_var_ * freedom / (freedom - 2.0);
        const double moved = std::fabs(std::log(bytes / values) - was.log_guess);
        return {bytes,
                was.log_ratio,
                shared_share_ * step_var + beyond(moved, bits),
                (1.0 - shared_share_) * step_var + was.doubt_var,
                scale,
                true};
    }
    const double log_ratio = features.finite ? log_ratio_mean_ : 0.0;
    const double bits = 8.0 * guess.bytes * std::exp(log_ratio) / values;
    const double scale = field_scale(features, priors.followed, bits);
    const double out =
        std::fabs(std::log(guess.bytes / values) - log_guess_mean_) - std::sqrt(log_guess_var_);
    return {guess.bytes,
            log_ratio,
            square(scale) * mean_var_ + (learned_ == 0 ? 0.0 : beyond(out, bits)),
            square(scale) * noise_var_,
            scale,
            false};
}

// How far looks have been off in this field, for a block of these bytes. 0: not known yet.
double SizeModel::look_var(double bytes, std::uint64_t values) const {
    if (steps_ < past_.size()) return 0.0;
    const double scale = sample_scale(false, 8.0 * bytes / static_cast<double>(values));
    return square(scale) * step_var_;
}

Bytes SizeModel::predict(const Features& features) const {
    const double raw = raw_bytes(features);
    if (family_ == Family::raw || features.values == 0) return {raw, 0.0, 0.0};
    if (features.recalled) return recalled(features);
    const Expected expected = expect(features, guess_bytes(family_, features, raw));
    const double common_var = std::min(k_most_var, expected.common_var);
    const double var = common_var + std::min(k_most_var, expected.own_var);
    // Mean and deviation of a log-normal quantity.
    const double mean = std::min(raw, expected.guess * std::exp(expected.log_ratio + 0.5 * var));
    return {mean, mean * std::sqrt(std::expm1(var)), mean * std::sqrt(std::expm1(common_var))};
}

// A block of which nothing is known went the way whose guess it is nearer to.
SizeModel::Past SizeModel::first_of(const Features& features, const Guess& guess,
                                    double stored_bytes) const {
    const auto ratio = [&](std::size_t way) {
        return std::clamp(std::log(stored_bytes / guess.by_way[way]), -k_max_log_ratio,
                          k_max_log_ratio);
    };
    const std::size_t way = std::fabs(ratio(1)) < std::fabs(ratio(0)) ? 1 : 0;
    const double log_guess = std::log(guess.by_way[way] / static_cast<double>(features.values));
    return {ratio(way), log_guess, 0.0, dump_, features.finite, static_cast<std::uint8_t>(way)};
}

void SizeModel::learn(const Features& features, std::uint64_t stored_bytes) {
    if (features.values == 0 || stored_bytes == 0 || family_ == Family::raw) return;
    const auto stored = static_cast<double>(stored_bytes);
    const double log_size = std::log(stored / static_cast<double>(features.values));
    learn_size(features, log_size);
    if (features.recalled) return;
    const Guess guess = guess_bytes(family_, features, raw_bytes(features));
    const Expected expected = expect(features, guess);
    const auto ratio_to = [&](double bytes) {
        return std::clamp(std::log(stored / bytes), -k_max_log_ratio, k_max_log_ratio);
    };
    Past now = first_of(features, guess, stored);
    if (expected.known) {
        const Past& was = past_.at(features.block);
        if (was.dump == dump_) close_dump();
        now.dump = dump_;
        now.doubt_var = k_doubt_left * was.doubt_var;
        const double seen = ratio_to(expected.guess);
        const double step = (seen - expected.log_ratio) / expected.scale;
        const double expected_var =
            (expected.common_var + expected.own_var) / square(expected.scale);
        // What an odd past or a new regime explain is to stay; of an ordinary step, a share.
        const double ordinary = std::min(1.0, step_var_ / expected_var);
        const double memory = priors_of(family_, features.estimated).memory;
        if (learn_step(step, expected_var)) {
            now.doubt_var += k_doubt * square(seen - expected.log_ratio);
        } else {
            now.way = was.way;
            now.log_guess = std::log(expected.guess / static_cast<double>(features.values));
            now.log_ratio = seen - ordinary * (1.0 - memory) * (seen - expected.log_ratio);
        }
    }
    if (features.finite) {
        const double bits =
            8.0 * guess.bytes * std::exp(log_ratio_mean_) / static_cast<double>(features.values);
        const bool followed = priors_of(family_, features.estimated).followed;
        learn_field(std::log(guess.bytes / static_cast<double>(features.values)),
                    ratio_to(guess.bytes), field_scale(features, followed, bits));
    }
    now.log_size = log_size;
    now.activity = features.activity;
    now.values = features.values;
    now.mode = features.mode;
    now.adaptive = features.adaptive;
    if (features.block == k_no_block) return;
    const auto was = past_.find(features.block);
    keep_settings(features, was == past_.end() ? nullptr : &was->second, now);
    past_[features.block] = now;
}

// How far one block moved since the dump before, at one bit per value. Is that odd?
bool SizeModel::learn_step(double step, double expected_var) {
    const double most_var = square(k_most_sigmas) * expected_var;
    // What the move out of the learned regime and an odd past account for is not the steps' own.
    const double counted =
        std::min(1.0, step_var_ / expected_var) * std::min(square(step), most_var);
    const double floor = priors_of(family_, family_ == Family::own).floor;
    const double remembered = k_remembered_dumps * static_cast<double>(past_.size());
    const double gain = 1.0 / std::min(std::max(remembered, k_prior_blocks),
                                       static_cast<double>(steps_) + k_prior_blocks);
    step_var_ = std::max(square(floor), step_var_ + gain * (counted - step_var_));
    ++steps_;
    const double clipped = std::copysign(std::sqrt(counted), step);
    dump_n_ += 1.0;
    dump_sum_ += clipped;
    dump_squares_ += square(clipped);
    return square(step) > most_var;
}

// A dump is over when one of its blocks comes again: how much of the steps was common to all?
void SizeModel::close_dump() {
    if (dump_n_ >= 2.0 && dump_squares_ > 0.0) {
        const double mean = dump_sum_ / dump_n_;
        const double within =
            std::max(0.0, dump_squares_ - dump_n_ * square(mean)) / (dump_n_ - 1.0);
        const double common = std::max(0.0, square(mean) - within / dump_n_);
        const double share = std::min(1.0, common / (dump_squares_ / dump_n_));
        dumps_ = std::min(dumps_ + 1.0, k_remembered_dumps);
        shared_share_ += (share - shared_share_) / (dumps_ + k_shared_prior_weight);
    }
    ++dump_;
    dump_n_ = dump_sum_ = dump_squares_ = 0.0;
}

void SizeModel::learn_field(double log_guess, double seen, double scale) {
    const Priors priors = priors_of(family_, family_ == Family::own);
    const double out =
        learned_ == 0 ? 0.0 : std::fabs(log_guess - log_guess_mean_) - std::sqrt(log_guess_var_);
    double common_var =
        mean_var_ +
        square(std::min(k_most_spread, priors.beyond * std::max(0.0, out)) / std::min(1.0, scale));
    const double most = k_most_sigmas * scale * std::sqrt(common_var + noise_var_);
    double surprise = seen - log_ratio_mean_;
    odd_run_ = std::fabs(surprise) > most ? odd_run_ + 1 : 0;
    // One odd block is passed over; several are no exception, the field has another factor.
    if (odd_run_ == 1 && learned_ >= k_trusted_blocks)
        surprise = std::clamp(surprise, -most, most);
    else if (odd_run_ > 0)
        common_var += square(surprise / scale);
    const double gain = common_var / (common_var + noise_var_);
    log_ratio_mean_ += gain * surprise;
    // The part of the squared surprise that is noise and not ignorance of the mean.
    const double noise = square(surprise / scale) * (1.0 - gain);
    const double noise_gain =
        std::max(k_least_noise_gain, 1.0 / (static_cast<double>(learned_) + k_prior_blocks));
    noise_var_ = std::max(square(priors.floor), noise_var_ + noise_gain * (noise - noise_var_));
    // The field drifts, so the mean is never known better than the least gain implies.
    mean_var_ = std::max({(1.0 - gain) * common_var, square(std::min(k_drift, priors.field)),
                          noise_var_ * k_least_gain / (1.0 - k_least_gain)});
    const double step = log_guess - log_guess_mean_;
    const double log_gain = std::max(k_least_gain, 1.0 / (static_cast<double>(learned_) + 1.0));
    log_guess_mean_ += log_gain * step;
    log_guess_var_ = (1.0 - log_gain) * (log_guess_var_ + log_gain * square(step));
    ++learned_;
}

}  // namespace caesura::predict
