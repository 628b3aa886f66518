// How long a codec takes to compress a block: a curve of throughput over bits per value, scaled to
// this machine by finished blocks.
//
// Invariants:
//  - A prediction is finite and > 0 (0 for no bytes), grows with the bits and is proportional to
//    the data.
#include <algorithm>
#include <cmath>

#include "caesura/predict.hpp"

namespace caesura::predict {
namespace {

constexpr double k_least_gain = 0.1;     // the last ten or so blocks count
constexpr double k_max_log_ratio = 4.2;  // a factor of 66: what one block may claim

}  // namespace

// The curves are starting points for one core of a server of about 2020 (bytes of raw data per s);
// the first finished block moves them.
CompressModel::CompressModel(std::string_view codec_name, DType dtype)
    : curve_{100.0e6, 200.0e6, -1.716}, value_bits_(8.0 * static_cast<double>(size_of(dtype))) {
    struct Known {
        std::string_view name;
        Curve curve;
    };
    // The exponent is S1's fit for SZ.
    constexpr Known known[] = {
        {"none", {5.0e9, 5.0e9, -1.0}},     {"caesura", {2.5e9, 4.0e9, -1.0}},
        {"sz3", {80.0e6, 170.0e6, -1.716}}, {"zfp", {110.0e6, 300.0e6, -1.0}},
        {"zstd", {250.0e6, 900.0e6, -1.0}}, {"blosc2", {400.0e6, 2.0e9, -1.0}},
    };
    for (const Known& k : known)
        if (k.name == codec_name.substr(0, codec_name.find(':'))) curve_ = k.curve;
}

// Source: S1-Eq1. Differs: clamped at the fastest speed (the formula exceeds it below 3 bits), the
// bits are those of a 32-bit value, and a learned factor corrects the whole curve.
double CompressModel::predict_s(std::uint64_t raw_bytes, double bits_per_value) const {
    if (raw_bytes == 0) return 0.0;
    const double bits = 32.0 * bits_per_value / value_bits_;
    const double above = std::pow(std::max(bits, 1e-3) / 3.0, curve_.exponent);
    const double speed =
        std::clamp(curve_.low + (curve_.high - curve_.low) * above, curve_.low, curve_.high);
    return static_cast<double>(raw_bytes) / (speed * std::exp(log_speed_));
}

void CompressModel::learn(std::uint64_t raw_bytes, double bits_per_value, double compress_s) {
    if (raw_bytes == 0 || !std::isfinite(compress_s) || compress_s <= 0.0) return;
    const double step = std::log(predict_s(raw_bytes, bits_per_value) / compress_s);
    const double gain = std::max(k_least_gain, 1.0 / (static_cast<double>(learned_) + 1.0));
    log_speed_ += gain * std::clamp(step, -k_max_log_ratio, k_max_log_ratio);
    ++learned_;
}

}  // namespace caesura::predict
