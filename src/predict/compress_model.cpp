// How long one field's blocks take to compress: a curve of this machine, or a built-in one, moved
// by finished blocks.
//
// Invariants:
//  - A prediction is finite and > 0 (0 for no bytes). Before anything is learned it never falls
//    when the bits grow; afterwards it follows what was measured.
//  - What a block teaches serves blocks of other bits too, more of it the nearer they are.
#include <algorithm>
#include <cmath>

#include "predict/learning.hpp"
#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr double k_prior_spread = 1.0;        // of ln(measured / built-in curve)
constexpr double k_calibrated_spread = 0.15;  // of ln(measured / this machine's curve)
constexpr double k_noise = 0.1;               // from block to block
constexpr double k_local_gain = 0.3;
constexpr double k_most_local = 0.7;    // no part of the curve is moved by more than 2
constexpr double k_knots_apart = 0.75;  // in log2(1 + bits): 8 knots reach 37 bits
constexpr double k_least_compress_s = 1e-12;

struct BuiltIn {
    std::string_view codec;
    Mode mode;
    CompressCurve curve;
    bool adaptive = false;
};

CompressCurve power(double low_bytes_per_s, double high_bytes_per_s, double exponent) {
    CompressCurve curve;
    curve.low_bytes_per_s = low_bytes_per_s;
    curve.high_bytes_per_s = high_bytes_per_s;
    curve.exponent = exponent;
    return curve;
}

// Nanoseconds of a value of 32 bits at these bits.
CompressCurve points(std::vector<double> bits, const std::vector<double>& ns) {
    CompressCurve curve;
    curve.form = CompressCurve::Form::points;
    curve.bits = std::move(bits);
    for (const double value_ns : ns) curve.s_per_byte.push_back(value_ns * 1e-9 / 4.0);
    return curve;
}

// Starting points for one core of a server of about 2020; the first finished block moves them. The
// exponents of SZ3 are S1's fit for SZ.
std::vector<BuiltIn> built_in(std::string_view codec) {
    if (codec == "caesura")
        return {{codec, Mode::fast, points({0, 1, 2, 4, 12, 20}, {0.6, 0.9, 1.1, 1.5, 2.0, 4.0})},
                {codec, Mode::strong, points({0, 1, 2, 4, 12, 20}, {0.8, 1.1, 1.3, 1.7, 2.2, 4.2})},
                {codec, Mode::planes, power(4.0e9, 6.0e9, -1.0)},
                {codec, Mode::strong, points({0, 0.1, 0.4, 1, 4}, {5, 8, 18, 38, 110}), true}};
    if (codec == "none") return {{codec, Mode::automatic, power(5.0e9, 5.0e9, -1.0)}};
    if (codec == "sz3") return {{codec, Mode::automatic, power(80.0e6, 170.0e6, -1.716)}};
    if (codec == "zfp") return {{codec, Mode::automatic, power(110.0e6, 300.0e6, -1.0)}};
    if (codec == "zstd") return {{codec, Mode::automatic, power(250.0e6, 900.0e6, -1.0)}};
    if (codec == "blosc2") return {{codec, Mode::automatic, power(400.0e6, 2.0e9, -1.0)}};
    return {{codec, Mode::automatic, power(100.0e6, 200.0e6, -1.716)}};
}

const char* name_of(Mode mode) {
    switch (mode) {
        case Mode::fast:
            return "fast";
        case Mode::strong:
            return "strong";
        case Mode::planes:
            return "planes";
        case Mode::regions:
        case Mode::automatic:
            break;
    }
    return "";
}

double knot_position(double bits_per_value) {
    const double bits = std::isnan(bits_per_value) ? 0.0 : std::clamp(bits_per_value, 0.0, 64.0);
    return std::log2(1.0 + bits) / k_knots_apart;
}

}  // namespace

CompressModel::CompressModel(std::string_view codec_name, DType dtype, const Profile* profile)
    : value_bits_(8.0 * static_cast<double>(size_of(dtype))) {
    const std::string_view codec = codec_name.substr(0, codec_name.find(':'));
    const bool foreign = codec == "filter";  // its number says which it is
    for (BuiltIn& known : built_in(foreign ? codec_name : codec)) {
        const CompressCurve* measured = nullptr;
        double scale = 32.0 / value_bits_;
        if (profile != nullptr) {
            // What the codec chose by itself was measured, or what it was told to.
            const std::string mode = known.adaptive ? "adaptive" : name_of(known.mode);
            for (const std::string& name :
                 {std::string(codec_name), std::string(codec), std::string(codec) + ":" + mode})
                if (measured == nullptr) measured = profile->find(name, mode, dtype);
        }
        calibrated_ = calibrated_ || measured != nullptr;
        if (measured != nullptr) scale = 1.0;
        curves_.push_back({known.mode, known.adaptive,
                           measured != nullptr ? *measured : std::move(known.curve), scale});
    }
    const double spread = calibrated_ ? k_calibrated_spread : k_prior_spread;
    log_factor_var_ = spread * spread;
}

const CompressModel::ModeCurve& CompressModel::curve_of(Mode mode, bool adaptive) const {
    for (const ModeCurve& entry : curves_)
        if (entry.adaptive == adaptive && (adaptive || entry.mode == mode)) return entry;
    return curves_.front();
}

double CompressModel::curve_s(std::uint64_t raw_bytes, double bits_per_value, Mode mode,
                              bool adaptive) const {
    const ModeCurve& entry = curve_of(mode, adaptive);
    return std::max(k_least_compress_s,
                    entry.curve.predict_s(raw_bytes, entry.bits_scale * bits_per_value));
}

double CompressModel::correction(double bits_per_value) const {
    const double at = std::min(knot_position(bits_per_value), double{k_knots} - 1.0);
    const auto below = std::min(static_cast<std::size_t>(at), k_knots - 2);
    const double part = at - static_cast<double>(below);
    return log_factor_ + (1.0 - part) * log_local_[below] + part * log_local_[below + 1];
}

double CompressModel::predict_s(std::uint64_t raw_bytes, double bits_per_value, Mode mode,
                                bool adaptive) const {
    if (raw_bytes == 0) return 0.0;
    return curve_s(raw_bytes, bits_per_value, mode, adaptive) *
           std::exp(correction(bits_per_value));
}

void CompressModel::learn(std::uint64_t raw_bytes, double bits_per_value, double compress_s,
                          Mode mode, bool adaptive) {
    if (raw_bytes == 0 || !std::isfinite(compress_s) || compress_s <= 0.0) return;
    const double surprise =
        std::clamp(std::log(compress_s / predict_s(raw_bytes, bits_per_value, mode, adaptive)),
                   -k_max_log_ratio, k_max_log_ratio);
    const double gain =
        std::max(k_least_gain, log_factor_var_ / (log_factor_var_ + k_noise * k_noise));
    log_factor_ += gain * surprise;
    log_factor_var_ *= 1.0 - gain;
    // What the common factor leaves belongs to these bits.
    const double at = knot_position(bits_per_value);
    for (std::size_t k = 0; k < k_knots; ++k) {
        const double near = std::max(0.0, 1.0 - std::fabs(at - static_cast<double>(k)));
        log_local_[k] = std::clamp(log_local_[k] + k_local_gain * near * (1.0 - gain) * surprise,
                                   -k_most_local, k_most_local);
    }
}

}  // namespace caesura::predict
