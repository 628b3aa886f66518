// Throughput of a codec over the bits per value it makes of a block, and how it is fitted.
//
// Invariants:
//  - Predictions never fall when the bits grow, in either form: coefficients are >= 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.hpp"
#include "predict/fit.hpp"
#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr double k_pivot_bits = 3.0;  // S1-Eq1's 3: "yields the best result"
constexpr std::size_t k_most_points = 14;
constexpr double k_apart_bits = 0.05;   // points lie at least so far apart, and an eighth of their
                                        // bits: below that there is only noise
constexpr double k_sizes_differ = 2.0;  // block sizes that tell fixed costs from those per byte
constexpr double k_least_s_per_byte = 1e-13;
// Points follow anything; S1's three numbers are preferred where they do nearly as well.
constexpr double k_simpler_is_better = 1.02;

bool usable(const CompressSample& s) {
    return s.raw_bytes > 0 && std::isfinite(s.bits_per_value) && s.bits_per_value >= 0.0 &&
           std::isfinite(s.compress_s) && s.compress_s > 0.0;
}

std::vector<CompressSample> usable_only(std::span<const CompressSample> samples) {
    std::vector<CompressSample> kept;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept), usable);
    std::sort(kept.begin(), kept.end(), [](const CompressSample& a, const CompressSample& b) {
        return a.bits_per_value < b.bits_per_value;
    });
    return kept;
}

// (B / 3)^a, at most 1: S1-Eq1's clamp at C_max.
double share_of_high(double bits, double exponent) {
    return bits <= k_pivot_bits ? 1.0 : std::pow(bits / k_pivot_bits, exponent);
}

CompressCurve power_with(const std::vector<CompressSample>& samples, double exponent) {
    // Relative errors of the throughput: S t / D = 1, linear in C_min and C_max - C_min.
    std::vector<std::vector<double>> rows;
    for (const CompressSample& s : samples) {
        const double s_per_byte = s.compress_s / static_cast<double>(s.raw_bytes);
        rows.push_back({s_per_byte, s_per_byte * share_of_high(s.bits_per_value, exponent)});
    }
    const std::vector<double> v = fit_nonnegative(rows, 2);
    CompressCurve curve;
    curve.exponent = exponent;
    curve.low_bytes_per_s = v[0];
    curve.high_bytes_per_s = v[0] + v[1];
    return curve;
}

double sum_of_errors(const CompressCurve& curve, const std::vector<CompressSample>& samples) {
    double sum = 0.0;
    for (const CompressSample& s : samples) {
        const double speed = static_cast<double>(s.raw_bytes) /
                             curve.predict_s(s.raw_bytes, s.bits_per_value) * s.compress_s /
                             static_cast<double>(s.raw_bytes);
        sum += std::isfinite(speed) ? std::fabs(speed - 1.0) : 1e9;
    }
    return sum;
}

CompressCurve fit_power(const std::vector<CompressSample>& samples) {
    CompressCurve best;
    double least = -1.0;
    const auto consider = [&](double exponent) {
        const CompressCurve curve = power_with(samples, exponent);
        const double error = sum_of_errors(curve, samples);
        if (least < 0.0 || error < least) {
            least = error;
            best = curve;
        }
    };
    for (double a = 0.2; a < 8.0; a *= 1.25) consider(-a);
    for (double step = 0.12; step > 1e-5; step *= 0.5)
        for (const double factor : {1.0 - step, 1.0 + step}) consider(best.exponent * factor);
    // Of a curve that vanishes for many bits nothing could be predicted.
    best.low_bytes_per_s = std::max(best.low_bytes_per_s, 1e-3 * best.high_bytes_per_s);
    return best;
}

// Where points lie: as many samples between two of them everywhere, and not too close.
std::vector<double> choose_bits(const std::vector<CompressSample>& samples) {
    std::vector<double> bits;
    const std::size_t wanted = std::clamp<std::size_t>(samples.size() / 4 + 1, 2, k_most_points);
    for (std::size_t i = 0; i < wanted; ++i) {
        const double at = samples[i * (samples.size() - 1) / (wanted - 1)].bits_per_value;
        if (bits.empty() || at - bits.back() >= std::max(k_apart_bits, bits.back() / 8.0))
            bits.push_back(at);
    }
    const double last = samples.back().bits_per_value;
    if (bits.size() > 1 && bits.back() < last) bits.back() = last;
    return bits;
}

// How far `bits` lies between two points, 0..1.
double between(double bits, double from, double to) {
    return std::clamp((bits - from) / (to - from), 0.0, 1.0);
}

CompressCurve fit_points(const std::vector<CompressSample>& samples) {
    CompressCurve curve;
    curve.form = CompressCurve::Form::points;
    curve.bits = choose_bits(samples);
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const CompressSample& a, const CompressSample& b) { return a.raw_bytes < b.raw_bytes; });
    const bool sizes = static_cast<double>(most->raw_bytes) >
                       k_sizes_differ * static_cast<double>(least->raw_bytes);
    // Coefficients: the time per block, per byte at the first point, and each rise between points.
    std::vector<std::vector<double>> rows;
    for (const CompressSample& s : samples) {
        std::vector<double> row = {sizes ? 1.0 / s.compress_s : 0.0};
        const double bytes = static_cast<double>(s.raw_bytes) / s.compress_s;
        row.push_back(bytes);
        for (std::size_t i = 1; i < curve.bits.size(); ++i)
            row.push_back(bytes * between(s.bits_per_value, curve.bits[i - 1], curve.bits[i]));
        rows.push_back(std::move(row));
    }
    const std::vector<double> v = fit_nonnegative(rows, curve.bits.size() + 1);
    curve.per_block_s = v[0];
    curve.s_per_byte.resize(curve.bits.size());
    std::partial_sum(v.begin() + 1, v.end(), curve.s_per_byte.begin());
    // A first point of no time at all would be an infinite speed.
    const double least_s = std::max(k_least_s_per_byte, 1e-3 * curve.s_per_byte.back());
    for (double& s : curve.s_per_byte) s = std::max(s, least_s);
    return curve;
}

CompressCurve fit_form(const std::vector<CompressSample>& samples, CompressCurve::Form form) {
    return form == CompressCurve::Form::power ? fit_power(samples) : fit_points(samples);
}

// Median error on every other sample, fitted to the rest, both ways round.
double unseen_error(const std::vector<CompressSample>& samples, CompressCurve::Form form) {
    std::array<std::vector<CompressSample>, 2> halves;
    for (std::size_t i = 0; i < samples.size(); ++i) halves[i % 2].push_back(samples[i]);
    if (halves[1].empty()) return 0.0;
    return median_error(fit_form(halves[0], form), halves[1]) +
           median_error(fit_form(halves[1], form), halves[0]);
}

}  // namespace

// Source: S1-Eq1. Differs: clamped at C_max too (the formula exceeds it below 3 bits); a second
// form for codecs whose speed does not follow a power of the bits.
double CompressCurve::predict_s(std::uint64_t raw_bytes, double bits_per_value) const {
    if (raw_bytes == 0) return 0.0;
    const double data = static_cast<double>(raw_bytes);
    const double at = std::isnan(bits_per_value) ? 0.0 : std::max(0.0, bits_per_value);
    if (form == Form::power) {
        const double share = share_of_high(at, exponent);
        return data / (low_bytes_per_s + (high_bytes_per_s - low_bytes_per_s) * share);
    }
    double s = s_per_byte.front();
    for (std::size_t i = 1; i < bits.size(); ++i)
        s += (s_per_byte[i] - s_per_byte[i - 1]) * between(at, bits[i - 1], bits[i]);
    return per_block_s + data * s;
}

Status check(const CompressCurve& curve) {
    const auto bad = [](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    const auto positive = [](double x) { return std::isfinite(x) && x > 0.0; };
    if (curve.form == CompressCurve::Form::power) {
        if (!positive(curve.low_bytes_per_s) || !positive(curve.high_bytes_per_s) ||
            curve.low_bytes_per_s > curve.high_bytes_per_s)
            return bad(fmt::format("throughputs are {} and {} bytes/s; 0 < low <= high is needed",
                                   curve.low_bytes_per_s, curve.high_bytes_per_s));
        if (!std::isfinite(curve.exponent) || curve.exponent >= 0.0)
            return bad(fmt::format("exponent is {}; it must be below 0", curve.exponent));
        return {};
    }
    if (curve.bits.empty() || curve.bits.size() != curve.s_per_byte.size())
        return bad(fmt::format("{} bits for {} times; as many of each, at least one, are needed",
                               curve.bits.size(), curve.s_per_byte.size()));
    if (!std::isfinite(curve.per_block_s) || curve.per_block_s < 0.0)
        return bad(fmt::format("per_block_s is {}; it must be >= 0", curve.per_block_s));
    for (std::size_t i = 0; i < curve.bits.size(); ++i) {
        if (!std::isfinite(curve.bits[i]) || curve.bits[i] < 0.0 ||
            (i > 0 && curve.bits[i] <= curve.bits[i - 1]))
            return bad(
                fmt::format("bits[{}] is {}; they must be >= 0 and ascend", i, curve.bits[i]));
        if (!positive(curve.s_per_byte[i]) ||
            (i > 0 && curve.s_per_byte[i] < curve.s_per_byte[i - 1]))
            return bad(fmt::format("s_per_byte[{}] is {}; they must be > 0 and not fall", i,
                                   curve.s_per_byte[i]));
    }
    return {};
}

Result<CompressCurve> fit_compress(std::span<const CompressSample> samples,
                                   CompressCurve::Form form) {
    const std::vector<CompressSample> kept = usable_only(samples);
    if (kept.empty())
        return Status{StatusCode::insufficient_data,
                      fmt::format("none of {} samples has bytes and a time", samples.size())};
    return fit_form(kept, form);
}

Result<CompressCurve> fit_compress(std::span<const CompressSample> samples) {
    const std::vector<CompressSample> kept = usable_only(samples);
    const double power = unseen_error(kept, CompressCurve::Form::power);
    const double points = unseen_error(kept, CompressCurve::Form::points);
    return fit_compress(samples, power <= k_simpler_is_better * points
                                     ? CompressCurve::Form::power
                                     : CompressCurve::Form::points);
}

double median_error(const CompressCurve& curve, std::span<const CompressSample> samples) {
    std::vector<double> errors;
    for (const CompressSample& s : samples)
        if (usable(s))
            errors.push_back(
                std::fabs(curve.predict_s(s.raw_bytes, s.bits_per_value) / s.compress_s - 1.0));
    return base::median(std::move(errors));
}

}  // namespace caesura::predict
