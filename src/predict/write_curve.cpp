// Seconds of a write over its bytes, and how the curve is fitted.
//
// Invariants:
//  - A prediction never falls when the bytes grow: latency and slopes are >= 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/median.hpp"
#include "predict/fit.hpp"
#include "predict/times.hpp"

namespace caesura::predict {
namespace {

constexpr double k_sizes_apart = 1.5;  // a slope may change where sizes lie so far apart
constexpr std::size_t k_most_slopes = 8;

bool usable(const WriteSample& s) { return std::isfinite(s.write_s) && s.write_s > 0.0; }

/// The part of `bytes` that lies between two points; the last reaches as far as one likes.
double part_of(double bytes, const std::vector<double>& points, std::size_t i) {
    const double above = std::max(0.0, bytes - points[i]);
    return i + 1 < points.size() ? std::min(above, points[i + 1] - points[i]) : above;
}

// From 0, then at each size that was measured, but for the largest.
std::vector<double> choose_points(const std::vector<WriteSample>& samples) {
    std::vector<double> sizes;
    for (const WriteSample& s : samples) {
        const double bytes = static_cast<double>(s.bytes);
        if (bytes > 0.0 && (sizes.empty() || bytes >= k_sizes_apart * sizes.back()))
            sizes.push_back(bytes);
    }
    if (!sizes.empty()) sizes.pop_back();
    // The first slope reaches to the second size: latency and slope need two sizes.
    if (!sizes.empty()) sizes.erase(sizes.begin());
    std::vector<double> points = {0.0};
    const std::size_t stride = sizes.size() / k_most_slopes + 1;
    for (std::size_t i = 0; i < sizes.size(); i += stride) points.push_back(sizes[i]);
    return points;
}

}  // namespace

// Source: S1-Eq2, with the throughput as it was measured at each size.
double WriteCurve::predict_s(double write_bytes) const {
    double s = latency_s;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        s += s_per_byte[i] * part_of(write_bytes, bytes, i);
    return s;
}

Status check(const WriteCurve& curve) {
    const auto bad = [](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    const auto usable_number = [](double x) { return std::isfinite(x) && x >= 0.0; };
    if (!usable_number(curve.latency_s))
        return bad(fmt::format("latency_s is {}; it must be >= 0", curve.latency_s));
    if (curve.bytes.empty() || curve.bytes.size() != curve.s_per_byte.size())
        return bad(fmt::format("{} sizes for {} slopes; as many of each, at least one, are needed",
                               curve.bytes.size(), curve.s_per_byte.size()));
    if (curve.bytes[0] != 0.0)
        return bad(fmt::format("bytes[0] is {}; the first slope begins at 0", curve.bytes[0]));
    double sum = curve.latency_s;
    for (std::size_t i = 0; i < curve.bytes.size(); ++i) {
        if (!usable_number(curve.bytes[i]) || (i > 0 && curve.bytes[i] <= curve.bytes[i - 1]))
            return bad(fmt::format("bytes[{}] is {}; they must ascend", i, curve.bytes[i]));
        if (!usable_number(curve.s_per_byte[i]))
            return bad(
                fmt::format("s_per_byte[{}] is {}; it must be >= 0", i, curve.s_per_byte[i]));
        sum += curve.s_per_byte[i];
    }
    if (!(sum > 0.0)) return bad("neither a latency nor a byte takes any time");
    return {};
}

Result<WriteCurve> fit_write(std::span<const WriteSample> samples) {
    std::vector<WriteSample> kept;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept),
                 [](const WriteSample& sample) { return usable(sample); });
    if (kept.empty())
        return Status{StatusCode::insufficient_data,
                      fmt::format("none of {} writes has a duration", samples.size())};
    std::sort(kept.begin(), kept.end(),
              [](const WriteSample& a, const WriteSample& b) { return a.bytes < b.bytes; });
    WriteCurve curve;
    curve.bytes = choose_points(kept);
    const bool sizes = static_cast<double>(kept.back().bytes) >
                       k_sizes_apart * static_cast<double>(kept.front().bytes);
    std::vector<std::vector<double>> rows;
    for (const WriteSample& s : kept) {
        // Of one size alone a cost per byte is read: it is what large writes cost.
        std::vector<double> row = {sizes || s.bytes == 0 ? 1.0 / s.write_s : 0.0};
        for (std::size_t i = 0; i < curve.bytes.size(); ++i)
            row.push_back(part_of(static_cast<double>(s.bytes), curve.bytes, i) / s.write_s);
        rows.push_back(std::move(row));
    }
    const std::vector<double> v = fit_nonnegative(rows, curve.bytes.size() + 1);
    curve.latency_s = v[0];
    curve.s_per_byte.assign(v.begin() + 1, v.end());
    if (Status status = check(curve); !status.ok()) return status;
    return curve;
}

double median_error(const WriteCurve& curve, std::span<const WriteSample> samples) {
    std::vector<double> errors;
    for (const WriteSample& s : samples)
        if (usable(s))
            errors.push_back(
                std::fabs(curve.predict_s(static_cast<double>(s.bytes)) / s.write_s - 1.0));
    return base::median(std::move(errors));
}

double ordered_share(const WriteCurve& curve, std::span<const WriteSample> samples, double tie) {
    std::size_t pairs = 0, ordered = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
        for (std::size_t j = i + 1; j < samples.size(); ++j) {
            const WriteSample& a = samples[i].bytes < samples[j].bytes ? samples[i] : samples[j];
            const WriteSample& b = samples[i].bytes < samples[j].bytes ? samples[j] : samples[i];
            const double least_s = std::min(a.write_s, b.write_s);
            if (a.bytes == b.bytes || std::fabs(b.write_s - a.write_s) <= tie * least_s) continue;
            const double a_s = curve.predict_s(static_cast<double>(a.bytes));
            const double b_s = curve.predict_s(static_cast<double>(b.bytes));
            ++pairs;
            ordered += (a_s < b_s) == (a.write_s < b.write_s);
        }
    return pairs == 0 ? 1.0 : static_cast<double>(ordered) / static_cast<double>(pairs);
}

}  // namespace caesura::predict
