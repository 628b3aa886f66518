#include "where/device_record.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::where {
namespace {

constexpr double k_hoped_of_samples = 0.5;
constexpr double k_gain = 0.2, k_most_change = 0.3;
constexpr std::uint64_t k_first_runs = 3;  // which are taken as they are, up to:
constexpr double k_most_apart = 0.7;
// After so many runs of other fields half of what is known of a field: a stall in its first runs
// would else keep it from a device for good.
constexpr double k_half_runs = 96.0;

int magnitude_of(double bytes) { return std::ilogb(std::max(1.0, bytes)); }

}  // namespace

double Link::bytes_per_s() const {
    // What a large transfer gains by being larger.
    constexpr double k_large = 64e6;
    const double more_s = seconds(2 * k_large) - seconds(k_large);
    return more_s > 0.0 ? k_large / more_s : 0.0;
}

void DeviceRecord::Mean::learn(double seen, double most_change) {
    const double gain = std::max(k_gain, 1.0 / static_cast<double>(++count));
    double change = seen - value;
    if (count > k_first_runs) change = std::clamp(change, -most_change, most_change);
    value += gain * change;
}

double DeviceRecord::difference(const Variant& variant, const Field& field, double bytes) {
    const auto found = field.of_size.find(magnitude_of(bytes));
    const bool known = found != field.of_size.end() && found->second.count >= 2;
    const Mean& mean = known ? found->second : field.over_all;
    const auto runs = static_cast<double>(mean.count);
    const auto since = static_cast<double>(variant.compute.runs() - field.last_run);
    return mean.value * runs / (runs + 1.0) *  // one run says little
           std::exp2(-since / k_half_runs);
}

void DeviceRecord::calibrate(const Run& run) {
    if (!(run.bytes > 0.0 && run.compute_s > 0.0 && std::isfinite(run.compute_s))) return;
    if (run.to_s > 0.0) to_.learn(run.bytes, run.to_s);
    if (run.from_s > 0.0) from_.learn(run.result_bytes, run.from_s);
    calibrated_.learn(run.bytes, run.utilisation, run.compute_s);
}

void DeviceRecord::learn(const std::string& name, const std::string& field_name, const Run& run,
                         bool is_like_samples) {
    if (!(run.bytes > 0.0 && run.compute_s > 0.0 && std::isfinite(run.compute_s))) return;
    if (run.to_s > 0.0) to_.learn(run.bytes, run.to_s);
    if (run.from_s > 0.0) from_.learn(run.result_bytes, run.from_s);
    ++runs_;
    if (!variants_.contains(name) && variants_.size() >= k_variants) return;
    Variant& variant = variants_[name];
    if (const auto sampled =
            is_like_samples ? calibrated_.predict(run.bytes, run.utilisation) : std::nullopt)
        variant.beyond_samples.learn(std::log(run.compute_s / sampled->seconds), k_most_change);
    const double share = run.result_bytes / run.bytes;
    variant.result_share.learn(share, 1.0);
    double usual_s = run.compute_s;
    if (variant.fields.contains(field_name) || variant.fields.size() < k_fields) {
        Field& field = variant.fields[field_name];
        field.result_share.learn(share, 1.0);
        if (const auto usual = variant.compute.predict(run.bytes, run.utilisation)) {
            usual_s = run.compute_s / std::exp(difference(variant, field, run.bytes));
            // A device that becomes slower is no matter of the field: so little is taken for one.
            double apart = std::log(run.compute_s / usual->seconds);
            if (field.over_all.count < k_first_runs)
                apart = std::clamp(apart, -k_most_apart, k_most_apart);
            field.over_all.learn(apart, k_most_change);
            field.of_size[magnitude_of(run.bytes)].learn(apart, k_most_change);
        }
        field.last_run = variant.compute.runs();
    }
    variant.compute.learn(run.bytes, run.utilisation, usual_s);
}

// A usual field's: by the variant's own runs, or where they are few or of other sizes by the
// samples, times what sets the variant apart from them.
std::optional<predict::LatencyModel::Latency> DeviceRecord::usual(const Variant& variant,
                                                                  double bytes, double utilisation,
                                                                  bool is_like_samples) const {
    const auto own = variant.compute.predict(bytes, utilisation);
    if ((own && own->near_runs) || !is_like_samples) return own;
    auto sampled = calibrated_.predict(bytes, utilisation);
    if (!sampled) return own;
    const auto runs = static_cast<double>(variant.beyond_samples.count);
    const double factor = std::exp(variant.beyond_samples.value * runs / (runs + 1.0));
    sampled->seconds *= factor;
    sampled->least_s = k_hoped_of_samples * sampled->seconds;
    sampled->near_runs = false;  // of another variant: worth a trial, no more
    return sampled;
}

Expected DeviceRecord::predict(const std::string& name, const std::string& field_name, double bytes,
                               double utilisation, bool to_link, bool from_link,
                               bool is_like_samples) const {
    Expected expected;
    expected.result_bytes = bytes;
    if (to_link) expected.to_s = to_.seconds(bytes);
    const auto variant = variants_.find(name);
    std::optional<predict::LatencyModel::Latency> latency;
    double factor = 1.0;
    if (variant != variants_.end()) {
        latency = usual(variant->second, bytes, utilisation, is_like_samples);
        double share = variant->second.result_share.value;
        if (const auto field = variant->second.fields.find(field_name);
            field != variant->second.fields.end()) {
            factor = std::exp(difference(variant->second, field->second, bytes));
            share = field->second.result_share.value;
        }
        expected.result_bytes = bytes * share;
    } else {
        latency = usual({}, bytes, utilisation, is_like_samples);
    }
    if (from_link) expected.from_s = from_.seconds(expected.result_bytes);
    if (!latency) return expected;
    expected.compute_s = factor * latency->seconds;
    expected.hoped_s = factor * latency->least_s;
    expected.known = latency->near_runs ? plan::Known::like_sizes : plan::Known::other_sizes;
    return expected;
}

std::string field_of(std::string_view label) {
    std::string field;
    for (const char c : label.substr(0, 128)) {
        const bool digit = c >= '0' && c <= '9';
        if (digit && !field.empty() && field.back() == '#') continue;
        field += digit ? '#' : c;
    }
    return field;
}

}  // namespace caesura::where
