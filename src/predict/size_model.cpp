// What a field's finished blocks teach about sizes: how the codec's compare with the sampled guess.
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

SizeModel::SizeModel(std::string_view codec_name, DType dtype)
    : value_bits_(8.0 * static_cast<double>(size_of(dtype))),
      mean_var_(k_prior_spread * k_prior_spread),
      noise_var_(k_prior_noise * k_prior_noise) {
    struct Known {
        std::string_view name;
        Kind kind;
    };
    constexpr Known known[] = {
        {"none", Kind::raw},      {"caesura", Kind::own},   {"sz3", Kind::interpolating},
        {"zfp", Kind::transform}, {"zstd", Kind::lossless}, {"blosc2", Kind::shuffled},
    };
    kind_ = Kind::unknown;
    for (const Known& k : known) {
        if (k.name == codec_name.substr(0, codec_name.find(':'))) kind_ = k.kind;
    }
    if (kind_ == Kind::own) {
        mean_var_ = k_own_spread * k_own_spread;
        noise_var_ = k_own_noise * k_own_noise;
    }
}

double SizeModel::raw_bytes(const Features& features) const {
    return static_cast<double>(features.values) * value_bits_ / 8.0;
}

// From the sampled bits to the codec's bytes, fitted once to the plugins' output on cosmology and
// plasma fields; a field's own factor is learned on top.
double SizeModel::guessed_bytes(const Features& features) const {
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
double SizeModel::shared_var(const Features& features) const {
    if (learned_ == 0) return mean_var_;
    const double log_bits =
        std::log(guessed_bytes(features) / static_cast<double>(features.values));
    const double beyond =
        std::max(0.0, std::fabs(log_bits - log_bits_mean_) - std::sqrt(log_bits_var_));
    return mean_var_ + std::min(k_prior_spread * k_prior_spread,
                                k_extrapolation * k_extrapolation * beyond * beyond);
}

Bytes SizeModel::predict(const Features& features) const {
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

void SizeModel::learn(const Features& features, std::uint64_t stored_bytes) {
    if (features.values == 0 || stored_bytes == 0 || kind_ == Kind::raw) return;
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
    const double noise_gain =
        std::max(k_least_noise_gain, 1.0 / (static_cast<double>(learned_) + k_prior_noise_blocks));
    noise_var_ =
        std::max(k_noise_floor * k_noise_floor, noise_var_ + noise_gain * (noise - noise_var_));
    // The field drifts, so the mean is never known better than the least gain implies.
    mean_var_ = std::max({(1.0 - gain) * common_var, k_drift * k_drift,
                          noise_var_ * k_least_gain / (1.0 - k_least_gain)});
    const double log_bits = std::log(guess / static_cast<double>(features.values));
    const double step = log_bits - log_bits_mean_;
    const double bits_gain = std::max(k_least_gain, 1.0 / (static_cast<double>(learned_) + 1.0));
    log_bits_mean_ += bits_gain * step;
    log_bits_var_ = (1.0 - bits_gain) * (log_bits_var_ + bits_gain * step * step);
    ++learned_;
}

}  // namespace caesura::predict
