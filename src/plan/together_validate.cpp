// Are the numbers of a run what a plan can be made of?
#include <fmt/format.h>

#include <cmath>

#include "base/invalid.hpp"
#include "plan/together_model.hpp"

namespace caesura::plan {
namespace {

bool is_time(double s) { return std::isfinite(s) && s >= 0.0; }

Status validate_curve(std::span<const CompressPoint> curve) {
    if (curve.empty()) return base::invalid("compress_curve is empty; give at least one point");
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const CompressPoint& point = curve[i];
        if (!std::isfinite(point.bytes) || point.bytes <= 0.0 || !is_time(point.seconds))
            return base::invalid(
                fmt::format("compress_curve[{}] is {} bytes, {} s; both must be finite, the "
                            "bytes positive and the seconds not negative",
                            i, point.bytes, point.seconds));
        if (i > 0 && point.bytes <= curve[i - 1].bytes)
            return base::invalid(
                fmt::format("compress_curve[{}] is {} bytes, not more than the {} before it; "
                            "sort the points",
                            i, point.bytes, curve[i - 1].bytes));
    }
    return {};
}

Status validate_start(const CheckpointProfile& profile, const TogetherStart& start) {
    if (start.held_bytes > 0 && profile.intervals_s.empty())
        return base::invalid(
            fmt::format("{} bytes are held, and no checkpoint follows", start.held_bytes));
    const auto cache = static_cast<double>(profile.cache_bytes);
    double bytes = static_cast<double>(start.held_bytes);
    for (std::size_t i = 0; i < start.queued.size(); ++i) {
        const QueuedBuffer& buffer = start.queued[i];
        bytes += buffer.bytes;
        if (!is_time(buffer.end_s) || !std::isfinite(buffer.bytes) || buffer.bytes < 0.0 ||
            (i > 0 && buffer.end_s < start.queued[i - 1].end_s))
            return base::invalid(
                fmt::format("queued[{}] is {} bytes until {} s; sort by end, none negative", i,
                            buffer.bytes, buffer.end_s));
    }
    if (bytes > cache)
        return base::invalid(
            fmt::format("{} bytes are held or queued in a cache of {}", bytes, cache));
    return {};
}

}  // namespace

Status validate(const CheckpointProfile& profile, const TogetherStart& start) {
    const auto& intervals = profile.intervals_s;
    if (profile.checkpoint_bytes == 0) return base::invalid("checkpoint_bytes is 0");
    if (intervals.size() != profile.compressed_bytes.size())
        return base::invalid(fmt::format("{} intervals_s, but {} compressed_bytes",
                                         intervals.size(), profile.compressed_bytes.size()));
    for (std::size_t i = 0; i < intervals.size(); ++i)
        if (!is_time(intervals[i]))
            return base::invalid(fmt::format(
                "intervals_s[{}] is {}; it must be finite and not negative", i, intervals[i]));
    if (!std::isfinite(profile.link_bytes_per_s) || profile.link_bytes_per_s <= 0.0)
        return base::invalid(fmt::format("link_bytes_per_s is {}", profile.link_bytes_per_s));
    if (!is_time(profile.copy_bytes_per_s))
        return base::invalid(
            fmt::format("copy_bytes_per_s is {}; it must be finite and not negative",
                        profile.copy_bytes_per_s));
    if (profile.cache_bytes < profile.checkpoint_bytes)
        return base::invalid(fmt::format("a cache of {} bytes does not hold a checkpoint of {}",
                                         profile.cache_bytes, profile.checkpoint_bytes));
    if (Status status = validate_curve(profile.compress_curve); !status.ok()) return status;
    return validate_start(profile, start);
}

}  // namespace caesura::plan
