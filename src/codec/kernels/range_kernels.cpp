// Smallest and largest values, skipping what is not finite.
//
// Invariants:
//  - Minimum and maximum do not depend on the order, so every lane count gives the same bits (but
//    for the sign of a zero, which is taken away).
#include "codec/kernels/range_kernels.hpp"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/range_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace caesura::codec {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, bool k_magnitudes>
Extremes<T> Find(const T* HWY_RESTRICT values, size_t n) {
    const hn::CappedTag<T, 16> d;
    using V = hn::Vec<decltype(d)>;
    const size_t lanes = hn::Lanes(d);
    constexpr T k_inf = std::numeric_limits<T>::infinity();
    const V top = hn::Set(d, std::numeric_limits<T>::max());
    const V zero = hn::Zero(d);
    // Four independent pairs hide the latency of minimum and maximum. (No array of them: vectors
    // of scalable width cannot be in one.)
    V low0 = hn::Set(d, k_inf), low1 = low0, low2 = low0, low3 = low0;
    V high0 = hn::Set(d, -k_inf), high1 = high0, high2 = high0, high3 = high0;
    const auto take = [&](const T* at, V& lowest, V& highest) HWY_ATTR {
        const V loaded = hn::LoadU(d, at);
        const V magnitude = hn::Abs(loaded);
        const V x = k_magnitudes ? magnitude : loaded;
        auto counts = hn::Le(magnitude, top);  // false for NaN
        if (k_magnitudes) counts = hn::And(counts, hn::Gt(magnitude, zero));
        lowest = hn::Min(lowest, hn::IfThenElse(counts, x, lowest));
        highest = hn::Max(highest, hn::IfThenElse(counts, x, highest));
    };
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        take(values + i, low0, high0);
        take(values + i + lanes, low1, high1);
        take(values + i + 2 * lanes, low2, high2);
        take(values + i + 3 * lanes, low3, high3);
    }
    for (; i + lanes <= n; i += lanes) take(values + i, low0, high0);
    if (i < n) {
        HWY_ALIGN T rest[16];
        for (size_t k = 0; k < 16; ++k) rest[k] = k_inf;  // does not count
        std::memcpy(rest, values + i, (n - i) * sizeof(T));
        take(rest, low0, high0);
    }
    const V lowest = hn::Min(hn::Min(low0, low1), hn::Min(low2, low3));
    const V highest = hn::Max(hn::Max(high0, high1), hn::Max(high2, high3));
    // + 0 makes -0 a 0.
    return {hn::GetLane(hn::MinOfLanes(d, lowest)) + T(0),
            hn::GetLane(hn::MaxOfLanes(d, highest)) + T(0)};
}

Extremes<float> FiniteF32(const float* values, size_t n) { return Find<float, false>(values, n); }
Extremes<double> FiniteF64(const double* values, size_t n) {
    return Find<double, false>(values, n);
}
Extremes<float> MagnitudeF32(const float* values, size_t n) { return Find<float, true>(values, n); }
Extremes<double> MagnitudeF64(const double* values, size_t n) {
    return Find<double, true>(values, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace caesura::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {

HWY_EXPORT(FiniteF32);
HWY_EXPORT(FiniteF64);
HWY_EXPORT(MagnitudeF32);
HWY_EXPORT(MagnitudeF64);

Extremes<float> finite_extremes(const float* values, std::size_t n) {
    return HWY_DYNAMIC_DISPATCH(FiniteF32)(values, n);
}
Extremes<double> finite_extremes(const double* values, std::size_t n) {
    return HWY_DYNAMIC_DISPATCH(FiniteF64)(values, n);
}
Extremes<float> magnitude_extremes(const float* values, std::size_t n) {
    return HWY_DYNAMIC_DISPATCH(MagnitudeF32)(values, n);
}
Extremes<double> magnitude_extremes(const double* values, std::size_t n) {
    return HWY_DYNAMIC_DISPATCH(MagnitudeF64)(values, n);
}

}  // namespace caesura::codec
#endif
