#include "codec/frame/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "codec/frame/masked_frame.hpp"
#include "codec/frame/recode.hpp"

namespace caesura::codec {
namespace {

using Kind = ErrorBound::Kind;

/// What one value may be off by; 0: bit for bit.
double allowed(const ErrorBound& bound, double width, double value) {
    if (!std::isfinite(value)) return 0;
    switch (bound.kind) {
        case Kind::absolute:
            return bound.value;
        case Kind::relative:
            return bound.value * width;
        case Kind::pointwise_relative:
            return bound.value * std::abs(value);
        case Kind::psnr:
            return std::numeric_limits<double>::infinity();
        case Kind::lossless:
            break;
    }
    return 0;
}

template <class T>
Verification compare(std::span<const std::byte> original, std::span<const std::byte> decoded,
                     const ErrorBound& bound) {
    const std::size_t n = original.size() / sizeof(T);
    const auto load = [](std::span<const std::byte> bytes, std::size_t i) {
        T value;
        std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
        return value;
    };
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t i = 0; i < n; ++i) {
        const auto x = static_cast<double>(load(original, i));
        if (!std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    Verification result;
    double squares = 0;
    double finite = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const T x = load(original, i);
        const T y = load(decoded, i);
        if (std::memcmp(&x, &y, sizeof(T)) == 0) {
            finite += std::isfinite(x) ? 1 : 0;
            continue;
        }
        const double error = std::abs(static_cast<double>(x) - static_cast<double>(y));
        const double limit = allowed(bound, high - low, static_cast<double>(x));
        if (!(error <= limit) || limit == 0) {  // NaN too
            if (result.violations++ == 0) result.first_violation = i;
        }
        if (!std::isfinite(x)) continue;
        result.max_error = std::max(result.max_error, error);
        if (limit > 0) result.max_share = std::max(result.max_share, error / limit);
        squares += error * error;
        finite += 1;
    }
    result.psnr_decibels = squares > 0 ? 20 * std::log10((high - low) / std::sqrt(squares / finite))
                                       : std::numeric_limits<double>::infinity();
    if (bound.kind == Kind::psnr && !(result.psnr_decibels >= bound.value)) ++result.violations;
    return result;
}

Verification compare_as(DType dtype, std::span<const std::byte> original,
                        std::span<const std::byte> decoded, const ErrorBound& bound) {
    if (is_short_float(dtype))
        return compare<float>(code_as(original, dtype, true), code_as(decoded, dtype, true), bound);
    return dtype == DType::float32 ? compare<float>(original, decoded, bound)
                                   : compare<double>(original, decoded, bound);
}

/// Missing values that came back become NaN (all bits set, in every type), in both arrays; others
/// NaN in the original alone, which is a violation.
void take_out(const Mask& mask, std::size_t value_bytes, std::span<std::byte> original,
              std::span<std::byte> decoded) {
    for_each_missing(mask, [&](std::size_t first, std::size_t n, std::uint8_t) {
        for (std::size_t i = first; i < first + n; ++i) {
            std::byte* const x = &original[i * value_bytes];
            std::byte* const y = &decoded[i * value_bytes];
            const bool is_back = std::memcmp(x, y, value_bytes) == 0;
            std::memset(x, 0xff, value_bytes);
            std::memset(y, is_back ? 0xff : 0, value_bytes);
        }
    });
}

}  // namespace

Result<Verification> verify_frame(std::span<const std::byte> frame,
                                  std::span<const std::byte> original, const TableSet* tables,
                                  int threads) {
    const auto info = read_frame_info(frame);
    if (!info.ok()) return info.status();
    if (info->raw_bytes != original.size()) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("the frame holds {} bytes, the array {}", info->raw_bytes,
                                  original.size()));
    }
    std::vector<std::byte> decoded(original.size());
    if (Status status = decompress(frame, decoded, tables, threads); !status.ok()) return status;
    if (info->untyped || is_integer(info->dtype)) {
        const std::size_t width = info->untyped ? 1 : size_of(info->dtype);
        Verification result;
        for (std::size_t i = 0; i * width < decoded.size(); ++i) {
            if (std::memcmp(&decoded[i * width], &original[i * width], width) != 0 &&
                result.violations++ == 0)
                result.first_violation = i;
        }
        return result;
    }
    if (!is_masked(frame)) return compare_as(info->dtype, original, decoded, info->bound);
    // What is missing came back bit for bit, or is one of the violations; then it counts as NaN
    // does.
    const auto layout = read_masked(frame);
    if (!layout.ok()) return layout.status();
    const auto mask = unpack_mask(*layout);
    if (!mask.ok()) return mask.status();
    std::vector<std::byte> expected(original.begin(), original.end());
    take_out(*mask, size_of(info->dtype), expected, decoded);
    return compare_as(info->dtype, expected, decoded, info->bound);
}

}  // namespace caesura::codec
