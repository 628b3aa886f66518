// What a field's finished blocks teach: how the codec's sizes compare with the sampled guess, and
// how fast it is on this machine.
//
// Invariants:
//  - A prediction is finite, >= 0 and at most the raw bytes, whatever was learned.
//  - Before anything is learned the spread is wide (40 % and more; 10 % where the codec itself was
//    asked): it costs space once.
#include <algorithm>
#include <cmath>

#include "caesura/predict.hpp"

namespace caesura::predict {
namespace {

constexpr double k_prior_spread = 0.4;  // of ln(stored / guessed), before learning
constexpr double k_prior_noise = 0.15;  // from block to block, before learning
constexpr double k_own_spread = 0.1;    // the same where the codec itself was asked
constexpr double k_own_noise = 0.05;
constexpr double k_noise_floor = 0.01;  // no field is more regular than this
constexpr double k_least_gain = 0.1;    // the last ten or so blocks count
constexpr double k_least_noise_gain = 0.05;
constexpr double k_prior_noise_blocks = 4.0;  // how many blocks the prior noise is worth
constexpr double k_drift = 0.02;              // a field's factor moves so far between dumps
constexpr double k_extrapolation = 0.5;       // spread added per unit of ln(bits) beyond those seen
constexpr double k_max_log_ratio = 4.2;       // a factor of 66: what one block may claim
constexpr double k_frame_bytes = 256.0;       // headers and tables of the smallest block

// Few bits are predicted badly: what is left lies in the lossless stage and in rare places.
// Source: S1-Eq3, which reserves four times the extra space above ratio 32. Differs: no step.
double spread_scale(double bits_per_value) {
    return std::clamp(1.0 / std::sqrt(std::max(bits_per_value, 1e-9)), 1.0, 2.5);
}

}  // namespace

// The curves are starting points for one core of a server of about 2020 (bytes of raw data per s);
// the first finished block moves them.
FieldModel::FieldModel(std::string_view codec_name, DType dtype)
    : value_bits_(8.0 * static_cast<double>(size_of(dtype))),
      mean_var_(k_prior_spread * k_prior_spread),
      noise_var_(k_prior_noise * k_prior_noise) {
    struct Known {
        std::string_view name;
        Kind kind;
        Curve curve;
    };
    // The exponent is S1's fit for SZ.
    constexpr Known known[] = {
        {"none", Kind::raw, {5.0e9, 5.0e9, -1.0}},
        {"caesura", Kind::own, {2.5e9, 4.0e9, -1.0}},
        {"sz3", Kind::interpolating, {80.0e6, 170.0e6, -1.716}},
        {"zfp", Kind::transform, {110.0e6, 300.0e6, -1.0}},
        {"zstd", Kind::lossless, {250.0e6, 900.0e6, -1.0}},
        {"blosc2", Kind::shuffled, {400.0e6, 2.0e9, -1.0}},
    };
    kind_ = Kind::unknown;
    curve_ = {100.0e6, 200.0e6, -1.716};
    for (const Known& k : known) {
        if (k.name != codec_name.substr(0, codec_name.find(':'))) continue;
        kind_ = k.kind;
        curve_ = k.curve;
    }
    if (kind_ == Kind::own) {
        mean_var_ = k_own_spread * k_own_spread;
        noise_var_ = k_own_noise * k_own_noise;
    }
}

double FieldModel::raw_bytes(const Features& features) const {
    return static_cast<double>(features.values) * value_bits_ / 8.0;
}

// From the sampled bits to the codec's bytes, fitted once to the plugins' output on cosmology and
// plasma fields; a field's own factor is learned on top.
double FieldModel::guessed_bytes(const Features& features) const {
    double bits = features.bits_per_value;
    switch (kind_) {
        case Kind::interpolating:
            bits = 1.1 * features.smooth_bits_per_value;
            break;
        case Kind::transform:  // zfp keeps some 4 bits more than the bound asks for
            bits = 0.4 + bits + 4.2 * bits / (bits + 0.3);
            break;
        case Kind::lossless:
            bits *= 1.18;  // no shuffle: matches seldom line up with byte planes
            break;
        case Kind::shuffled:
            bits *= 1.03;
            break;
        case Kind::own:
            bits = features.smooth_bits_per_value;
            break;
        case Kind::raw:
        case Kind::unknown:
            break;
    }
    const double frame = features.estimated ? 0.0 : k_frame_bytes;
    return frame + static_cast<double>(features.values) * bits / 8.0;
}

// How uncertain the field's factor is for a block like this. The factor belongs to the regime it
// was learned in (a bound relative to the field's roughness); how far the sampled bits of this
// block lie outside those of the learned blocks says how far the regime has moved.
double FieldModel::shared_var(const Features& features) const {
    if (sizes_learned_ == 0) return mean_var_;
    const double log_bits =
        std::log(guessed_bytes(features) / static_cast<double>(features.values));
    const double beyond =
        std::max(0.0, std::fabs(log_bits - log_bits_mean_) - std::sqrt(log_bits_var_));
    return mean_var_ + std::min(k_prior_spread * k_prior_spread,
                                k_extrapolation * k_extrapolation * beyond * beyond);
}

Bytes FieldModel::predict_bytes(const Features& features) const {
    const double raw = raw_bytes(features);
    if (kind_ == Kind::raw || features.values == 0) return {raw, 0.0, 0.0};
    const double guess = guessed_bytes(features);
    const double scale = spread_scale(8.0 * guess * std::exp(log_ratio_mean_) /
                                      static_cast<double>(features.values));
    const double common_var = scale * scale * shared_var(features);
    const double var = common_var + scale * scale * noise_var_;
    // Mean and deviation of a log-normal quantity.
    const double mean = std::min(raw, guess * std::exp(log_ratio_mean_ + 0.5 * var));
    return {mean, mean * std::sqrt(std::expm1(var)), mean * std::sqrt(std::expm1(common_var))};
}

// Source: S1-Eq1. Differs: clamped at the fastest speed (the formula exceeds it below 3 bits), the
// bits are those of a 32-bit value, and a learned factor corrects the whole curve.
double FieldModel::predict_compress_s(const Features& features) const {
    if (features.values == 0) return 0.0;
    const double raw = raw_bytes(features);
    const double bits = 32.0 * predict_bytes(features).mean / raw;
    const double above = std::pow(std::max(bits, 1e-3) / 3.0, curve_.exponent);
    const double speed =
        std::clamp(curve_.low + (curve_.high - curve_.low) * above, curve_.low, curve_.high);
    return raw / (speed * std::exp(log_speed_));
}

void FieldModel::learn(const Features& features, std::uint64_t stored_bytes, double compress_s) {
    if (features.values == 0) return;
    if (std::isfinite(compress_s) && compress_s > 0.0) {
        const double step = std::log(predict_compress_s(features) / compress_s);
        const double gain =
            std::max(k_least_gain, 1.0 / (static_cast<double>(speeds_learned_) + 1.0));
        log_speed_ += gain * std::clamp(step, -k_max_log_ratio, k_max_log_ratio);
        ++speeds_learned_;
    }
    if (stored_bytes == 0 || kind_ == Kind::raw) return;
    const double guess = guessed_bytes(features);
    const double scale = spread_scale(8.0 * guess * std::exp(log_ratio_mean_) /
                                      static_cast<double>(features.values));
    const double seen = std::clamp(std::log(static_cast<double>(stored_bytes) / guess),
                                   -k_max_log_ratio, k_max_log_ratio);
    const double surprise = seen - log_ratio_mean_;
    const double common_var = shared_var(features);
    const double gain = common_var / (common_var + noise_var_);
    log_ratio_mean_ += gain * surprise;
    // The part of the squared surprise that is noise and not ignorance of the mean.
    const double noise = surprise * surprise / (scale * scale) * (1.0 - gain);
    const double noise_gain = std::max(
        k_least_noise_gain, 1.0 / (static_cast<double>(sizes_learned_) + k_prior_noise_blocks));
    noise_var_ =
        std::max(k_noise_floor * k_noise_floor, noise_var_ + noise_gain * (noise - noise_var_));
    // The field drifts, so the mean is never known better than the least gain implies.
    mean_var_ = std::max({(1.0 - gain) * common_var, k_drift * k_drift,
                          noise_var_ * k_least_gain / (1.0 - k_least_gain)});
    const double log_bits = std::log(guess / static_cast<double>(features.values));
    const double step = log_bits - log_bits_mean_;
    const double bits_gain =
        std::max(k_least_gain, 1.0 / (static_cast<double>(sizes_learned_) + 1.0));
    log_bits_mean_ += bits_gain * step;
    log_bits_var_ = (1.0 - bits_gain) * (log_bits_var_ + bits_gain * step * step);
    ++sizes_learned_;
}

}  // namespace caesura::predict
