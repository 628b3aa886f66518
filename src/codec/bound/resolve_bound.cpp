#include "codec/bound/resolve_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "codec/frame/slabs.hpp"
#include "codec/frame/typed_view.hpp"
#include "codec/kernels/range_kernels.hpp"

namespace caesura::codec {
namespace {

// Values looked at by one thread at a time.
constexpr std::uint64_t k_piece_bytes = std::uint64_t{4} << 20;

template <class T>
double round_down_to(double bound) {
    constexpr double k_max = static_cast<double>(std::numeric_limits<T>::max());
    const T rounded = static_cast<T>(std::min(bound, k_max));
    return static_cast<double>(static_cast<double>(rounded) > bound ? std::nextafter(rounded, T(0))
                                                                    : rounded);
}

template <class T>
FiniteRange range_typed(std::span<const std::byte> bytes, int threads) {
    const std::uint64_t pieces = (bytes.size() + k_piece_bytes - 1) / k_piece_bytes;
    std::vector<Extremes<T>> found(static_cast<std::size_t>(pieces));
    const Status done = for_each_parallel(pieces, threads, [&](int, std::uint64_t index) {
        const auto piece = bytes.subspan(static_cast<std::size_t>(index * k_piece_bytes),
                                         static_cast<std::size_t>(std::min<std::uint64_t>(
                                             k_piece_bytes, bytes.size() - index * k_piece_bytes)));
        std::vector<T> copy;
        const auto view = typed_view<T>(piece, copy);
        found[static_cast<std::size_t>(index)] = finite_extremes(view.data(), view.size());
        return Status();
    });
    FiniteRange range;
    if (!done.ok()) return range;
    T low = std::numeric_limits<T>::infinity();
    T high = -low;
    for (const Extremes<T>& e : found) {
        low = std::min(low, e.lowest);
        high = std::max(high, e.highest);
    }
    range.any = low <= high;
    if (range.any) {
        range.lowest = static_cast<double>(low);
        range.highest = static_cast<double>(high);
    }
    return range;
}

/// share * (highest - lowest), also where the difference overflows.
double share_of(const FiniteRange& range, double share) {
    const double width = range.highest - range.lowest;
    if (std::isfinite(width)) return share * width;
    return std::min(2 * (share * (range.highest / 2 - range.lowest / 2)),
                    std::numeric_limits<double>::max());
}

// As in bound.cpp: sums per lane leave no serial dependency, and the order of additions is fixed.
constexpr std::size_t k_sum_lanes = 16;

template <class T>
double squared_error_typed(const T* x, const T* y, std::size_t n) {
    std::array<double, k_sum_lanes> sum{};
    const auto take = [&](std::size_t lane, T a, T b) {
        const double difference = static_cast<double>(a) - static_cast<double>(b);
        const double square = difference * difference;
        sum[lane] += std::abs(a) <= std::numeric_limits<T>::max() ? square : 0.0;
    };
    std::size_t i = 0;
    for (; i + k_sum_lanes <= n; i += k_sum_lanes)
        for (std::size_t lane = 0; lane < k_sum_lanes; ++lane) take(lane, x[i + lane], y[i + lane]);
    for (; i < n; ++i) take(i % k_sum_lanes, x[i], y[i]);
    double total = 0.0;
    for (const double lane : sum) total += lane;
    return total;
}

template <class T>
std::uint64_t count_finite_typed(const T* x, std::size_t n) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += std::abs(x[i]) <= std::numeric_limits<T>::max();
    return count;
}

}  // namespace

double round_down(double bound, DType dtype) {
    return dtype == DType::float32 ? round_down_to<float>(bound) : round_down_to<double>(bound);
}

FiniteRange finite_range(std::span<const std::byte> values, DType dtype, int threads) {
    return dtype == DType::float32 ? range_typed<float>(values, threads)
                                   : range_typed<double>(values, threads);
}

double squared_error(std::span<const std::byte> original, std::span<const std::byte> decoded,
                     DType dtype) {
    const std::size_t n = original.size() / size_of(dtype);
    return dtype == DType::float32
               ? squared_error_typed(reinterpret_cast<const float*>(original.data()),
                                     reinterpret_cast<const float*>(decoded.data()), n)
               : squared_error_typed(reinterpret_cast<const double*>(original.data()),
                                     reinterpret_cast<const double*>(decoded.data()), n);
}

std::uint64_t count_finite(std::span<const std::byte> values, DType dtype) {
    const std::size_t n = values.size() / size_of(dtype);
    return dtype == DType::float32
               ? count_finite_typed(reinterpret_cast<const float*>(values.data()), n)
               : count_finite_typed(reinterpret_cast<const double*>(values.data()), n);
}

double log2_1p(double x) {
    // log2(1 + x) = 2 / ln 2 * artanh(s), s = x / (2 + x) <= 1/3.
    constexpr double k_2_by_ln2 = 2.8853900817779268;
    const double s = x / (2 + x);
    const double z = s * s;
    double sum = 0.0;
    for (int k = 18; k >= 0; --k) sum = sum * z + 1.0 / (2 * k + 1);
    return k_2_by_ln2 * s * sum;
}

double power_of_2(double x) {
    constexpr double k_ln2 = 0.69314718055994531;
    const double whole = std::floor(x + 0.5);
    const double r = (x - whole) * k_ln2;  // |r| <= 0.35
    double sum = 1.0;
    for (int k = 16; k >= 1; --k) sum = 1.0 + sum * r / k;
    return std::ldexp(sum, static_cast<int>(whole));
}

ResolvedBound resolve(const ErrorBound& bound, std::span<const std::byte> values, DType dtype,
                      int threads, const FiniteRange* range) {
    using How = ResolvedBound::How;
    const auto range_of_all = [&] {
        return range != nullptr ? *range : finite_range(values, dtype, threads);
    };
    ResolvedBound resolved;
    switch (bound.kind) {
        case ErrorBound::Kind::lossless:
            return resolved;
        case ErrorBound::Kind::absolute:
            resolved.bound = bound.value;
            break;
        case ErrorBound::Kind::relative:
            resolved.bound = share_of(range_of_all(), bound.value);
            break;
        case ErrorBound::Kind::pointwise_relative:
            resolved.how = How::logarithm;
            resolved.bound = log2_1p(bound.value);
            return resolved;
        case ErrorBound::Kind::psnr: {
            // Errors spread evenly over +-b have the mean square b^2 / 3.
            constexpr double k_log2_10_by_20 = 0.16609640474436813;
            constexpr double k_sqrt_3 = 1.7320508075688772;
            const double share = power_of_2(-bound.value * k_log2_10_by_20);
            const double root_mean_square = share_of(range_of_all(), share);
            resolved.bound = root_mean_square * k_sqrt_3;
            // A little under, for the rounding of whoever computes the PSNR.
            resolved.mean_square_limit = root_mean_square * root_mean_square * (1 - 1e-12);
            if (!(resolved.mean_square_limit > 0 && std::isfinite(resolved.mean_square_limit)))
                return {};
            break;
        }
    }
    resolved.bound = round_down(resolved.bound, dtype);
    // 0: the array is constant, or the bound below the type's smallest value.
    resolved.how = resolved.bound > 0 ? How::absolute : How::exact;
    return resolved;
}

}  // namespace caesura::codec
