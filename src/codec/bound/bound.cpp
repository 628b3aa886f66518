#include "codec/bound/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/short_float.hpp"

namespace caesura {

Status validate(const ErrorBound& bound) {
    using Kind = ErrorBound::Kind;
    switch (bound.kind) {
        case Kind::lossless:
            return {};
        case Kind::absolute:
            if (std::isfinite(bound.value) && bound.value > 0) return {};
            return {StatusCode::invalid_argument,
                    fmt::format("absolute error bound is {}; give a finite number above 0, or "
                                "lossless()",
                                bound.value)};
        case Kind::relative:
            if (bound.value > 0 && bound.value < 1) return {};  // false for NaN
            return {StatusCode::invalid_argument,
                    fmt::format("relative error bound is {}; give a share of the value range "
                                "between 0 and 1 (both excluded), or lossless()",
                                bound.value)};
        case Kind::pointwise_relative:
            if (bound.value > 0 && bound.value < 1) return {};
            return {StatusCode::invalid_argument,
                    fmt::format("point-wise relative error bound is {}; give a share of each "
                                "value's magnitude between 0 and 1 (both excluded), or lossless()",
                                bound.value)};
        case Kind::psnr:
            if (bound.value > 0 && bound.value < 400) return {};
            return {StatusCode::invalid_argument,
                    fmt::format("PSNR target is {} dB; give a number between 0 and 400 (both "
                                "excluded), or lossless()",
                                bound.value)};
    }
    return {StatusCode::invalid_argument,
            fmt::format("error bound has the unknown kind {}", static_cast<int>(bound.kind))};
}

namespace codec {
namespace {

// Values per step of the fast pass: one max per lane keeps the loop free of a serial dependency,
// which lets the compiler vectorise it without -ffast-math.
constexpr std::size_t k_check_lanes = 16;
// Values judged at once. A stretch with anything unusual in it is looked at again, value by value.
constexpr std::size_t k_stretch = 4096;

struct Worst {
    double max_error = 0.0;
    bool holds = true;
};

/// Largest |x - x'| of a stretch; `unusual` is set if any difference is not <= bound (NaN too).
template <class T>
double fast_max(const T* x, const T* y, std::size_t count, double bound, bool& unusual) {
    std::array<double, k_check_lanes> worst{};
    std::array<double, k_check_lanes>
        over{};  // 1 where a lane met a difference that is not <= bound
    std::size_t i = 0;
    for (; i + k_check_lanes <= count; i += k_check_lanes) {
        for (std::size_t lane = 0; lane < k_check_lanes; ++lane) {
            const double difference =
                std::abs(static_cast<double>(x[i + lane]) - static_cast<double>(y[i + lane]));
            over[lane] = difference <= bound ? over[lane] : 1.0;
            worst[lane] = difference > worst[lane] ? difference : worst[lane];
        }
    }
    for (; i < count; ++i) {
        const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
        over[0] = difference <= bound ? over[0] : 1.0;
        worst[0] = difference > worst[0] ? difference : worst[0];
    }
    unusual = *std::max_element(over.begin(), over.end()) > 0;
    return *std::max_element(worst.begin(), worst.end());
}

template <class T>
void careful(const T* x, const T* y, std::size_t count, double bound, Worst& worst) {
    for (std::size_t i = 0; i < count; ++i) {
        if (std::isnan(x[i])) {
            worst.holds &= std::isnan(y[i]);
        } else if (std::isinf(x[i])) {
            worst.holds &= x[i] == y[i];
        } else if (!std::isfinite(y[i])) {
            worst.holds = false;
        } else {
            const double difference =
                std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
            worst.max_error = std::max(worst.max_error, difference);
            worst.holds &= difference <= bound;
        }
    }
}

template <class T>
void check_run(const T* x, const T* y, std::size_t count, double bound, Worst& worst) {
    for (std::size_t begin = 0; begin < count; begin += k_stretch) {
        const std::size_t length = std::min(k_stretch, count - begin);
        bool unusual = false;
        const double max_error = fast_max(x + begin, y + begin, length, bound, unusual);
        if (unusual) {
            careful(x + begin, y + begin, length, bound, worst);
        } else {
            worst.max_error = std::max(worst.max_error, max_error);
        }
    }
}

/// Calls run(first, count) for every contiguous run of values inside `valid`.
template <class Run>
void for_each_run(const Shape& chunk, const Shape& valid, Run run) {
    // Axes behind the last cut one are whole, so a run spans them all.
    int cut = chunk.rank() - 1;
    while (cut > 0 && valid[cut] == chunk[cut]) --cut;
    std::uint64_t inner = 1;
    for (int axis = cut + 1; axis < chunk.rank(); ++axis) inner *= chunk[axis];
    std::uint64_t rows = 1;
    for (int axis = 0; axis < cut; ++axis) rows *= valid[axis];
    for (std::uint64_t row = 0; row < rows; ++row) {
        std::uint64_t rest = row;
        std::uint64_t first = 0;
        std::uint64_t stride = inner * chunk[cut];
        for (int axis = cut - 1; axis >= 0; --axis) {
            first += (rest % valid[axis]) * stride;
            rest /= valid[axis];
            stride *= chunk[axis];
        }
        run(static_cast<std::size_t>(first), static_cast<std::size_t>(valid[cut] * inner));
    }
}

template <class T>
BoundCheck check_typed(const std::byte* original, const std::byte* decoded, const Shape& chunk,
                       const Shape& valid, const ErrorBound& bound) {
    Worst worst;
    const T* x = reinterpret_cast<const T*>(original);
    const T* y = reinterpret_cast<const T*>(decoded);
    for_each_run(chunk, valid, [&](std::size_t first, std::size_t count) {
        if (bound.kind == ErrorBound::Kind::lossless) {
            worst.holds &= std::memcmp(x + first, y + first, count * sizeof(T)) == 0;
        } else {
            check_run(x + first, y + first, count, bound.value, worst);
        }
    });
    return {worst.holds, worst.max_error};
}

template <class T>
ValueRange value_range_typed(const std::byte* block, std::size_t count) {
    const T* x = reinterpret_cast<const T*>(block);
    // x * 0 is 0 for finite x and NaN otherwise, and NaN survives the sum: no branch, so it
    // vectorises; per lane for the same reason as above.
    std::array<T, k_check_lanes> zero{};
    std::array<T, k_check_lanes> low{};
    std::array<T, k_check_lanes> high{};
    low.fill(x[0]);
    high.fill(x[0]);
    const auto take = [&](std::size_t lane, T value) {
        zero[lane] += value * T(0);
        low[lane] = value < low[lane] ? value : low[lane];
        high[lane] = value > high[lane] ? value : high[lane];
    };
    std::size_t i = 0;
    for (; i + k_check_lanes <= count; i += k_check_lanes) {
        for (std::size_t lane = 0; lane < k_check_lanes; ++lane) take(lane, x[i + lane]);
    }
    for (; i < count; ++i) take(0, x[i]);
    return {std::none_of(zero.begin(), zero.end(), [](T value) { return std::isnan(value); }),
            static_cast<double>(*std::min_element(low.begin(), low.end())),
            static_cast<double>(*std::max_element(high.begin(), high.end()))};
}

std::vector<std::byte> widened(std::span<const std::byte> values, DType dtype) {
    std::vector<std::byte> wide(values.size() * 2);
    base::widen(values, dtype, wide.data());
    return wide;
}

}  // namespace

BoundCheck check_bound(std::span<const std::byte> original, std::span<const std::byte> decoded,
                       DType dtype, const Shape& chunk, const Shape& valid,
                       const ErrorBound& bound) {
    if (is_integer(dtype)) {
        const bool equal = std::equal(original.begin(), original.end(), decoded.begin());
        return {equal, equal ? 0.0 : std::numeric_limits<double>::infinity()};
    }
    if (is_short_float(dtype)) {
        const auto x = widened(original, dtype), y = widened(decoded, dtype);
        return check_typed<float>(x.data(), y.data(), chunk, valid, bound);
    }
    return dtype == DType::float32
               ? check_typed<float>(original.data(), decoded.data(), chunk, valid, bound)
               : check_typed<double>(original.data(), decoded.data(), chunk, valid, bound);
}

ValueRange value_range(std::span<const std::byte> block, DType dtype) {
    const std::size_t count = block.size() / size_of(dtype);
    if (is_short_float(dtype)) return value_range_typed<float>(widened(block, dtype).data(), count);
    return dtype == DType::float32 ? value_range_typed<float>(block.data(), count)
                                   : value_range_typed<double>(block.data(), count);
}

}  // namespace codec
}  // namespace caesura
