#include "where/device_record.hpp"

#include <algorithm>
#include <cmath>

namespace caesura::where {
namespace {

constexpr double k_share_gain = 0.25;

std::string key_of(const std::string& variant, const std::string& field) {
    return variant + "\n" + field;
}

}  // namespace

double Link::bytes_per_s() const {
    // What a large transfer gains by being larger.
    constexpr double k_large = 64e6;
    const double more_s = seconds(2 * k_large) - seconds(k_large);
    return more_s > 0.0 ? k_large / more_s : 0.0;
}

void DeviceRecord::learn(Variant& variant, const Run& run) {
    variant.compute.learn(run.bytes, run.utilisation, run.compute_s);
    if (run.bytes > 0.0 && run.result_bytes >= 0.0) {
        const double share = run.result_bytes / run.bytes;
        const double gain = variant.runs == 0 ? 1.0 : k_share_gain;
        variant.result_share += gain * (share - variant.result_share);
    }
    ++variant.runs;
}

void DeviceRecord::learn(const std::string& variant, const std::string& field, const Run& run) {
    learn(variants_[variant], run);
    if (const std::string key = key_of(variant, field);
        !field.empty() && (variants_.contains(key) || variants_.size() < k_fields))
        learn(variants_[key], run);
    if (run.to_s > 0.0) to_.learn(run.bytes, run.to_s);
    if (run.from_s > 0.0) from_.learn(run.result_bytes, run.from_s);
    ++runs_;
}

const DeviceRecord::Variant* DeviceRecord::find(const std::string& key) const {
    const auto found = variants_.find(key);
    return found == variants_.end() ? nullptr : &found->second;
}

Expected DeviceRecord::predict(const std::string& variant, const std::string& field, double bytes,
                               double utilisation, bool to_link, bool from_link) const {
    Expected expected;
    const Variant* const all = find(variant);
    const Variant* const own = field.empty() ? nullptr : find(key_of(variant, field));
    const auto of = [&](const Variant* one) {
        return one == nullptr ? std::nullopt : one->compute.predict(bytes, utilisation);
    };
    auto latency = of(own);
    const Variant* from = own;
    if (!latency || !latency->near_runs)
        if (const auto usual = of(all); usual && (!latency || usual->near_runs)) {
            latency = usual;
            from = all;
        }
    if (to_link) expected.to_s = to_.seconds(bytes);
    expected.result_bytes = bytes * (from != nullptr ? from->result_share : 1.0);
    if (from_link) expected.from_s = from_.seconds(expected.result_bytes);
    if (!latency) return expected;
    expected.compute_s = latency->seconds;
    expected.hoped_s = latency->least_s;
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
