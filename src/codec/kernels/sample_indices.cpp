// What is asked of sampled values and codes many times over: largest magnitudes, lattice indices as
// the Lorenzo encoder makes them, lengths of differences, counts of symbols.
#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/sample_indices.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <cmath>
#include <limits>

#include "codec/kernels/sample_kernels.hpp"
#include "codec/kernels/simd_lattice-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

/// One value with care: is it out of reach, or one that must come back bit for bit?
template <class T>
HWY_INLINE bool held(T v, T reconstruction, T bound) {
    const bool tiny = std::abs(v) < std::numeric_limits<T>::min() && (v != 0 || std::signbit(v));
    return std::abs(v - reconstruction) < bound && !tiny;
}

template <class T>
HWY_INLINE std::size_t Indices(const T* values, std::size_t n, T step, T bound,
                               std::int32_t* indices) {
    const typename Lanes<T>::D d;
    const typename Lanes<T>::DI di;
    const std::size_t lanes = hn::Lanes(d);
    const T inverse = T{1} / step;
    const auto least = hn::Set(d, std::numeric_limits<T>::min());
    std::size_t exact = 0;
    HWY_ALIGN T part[64 / sizeof(T)];
    HWY_ALIGN std::int32_t lattice[64 / sizeof(T)];
    for (std::size_t done = 0; done < n;) {
        // The last vector overlaps the one before; only what is shorter than a vector is cut.
        const std::size_t i = n < lanes ? 0 : HWY_MIN(done, n - lanes);
        const std::size_t count = HWY_MIN(lanes, n);
        const T* in = values + i;
        if (count < lanes) {
            for (std::size_t j = 0; j < lanes; ++j) part[j] = in[HWY_MIN(j, count - 1)];
            in = part;
        }
        const auto v = hn::LoadU(d, in);
        const auto q = to_lattice(hn::Mul(v, hn::Set(d, inverse)));
        const auto error = hn::Abs(hn::Sub(v, hn::Mul(to_values(q), hn::Set(d, step))));
        const auto usual = hn::And(hn::Lt(error, hn::Set(d, bound)), hn::Ge(hn::Abs(v), least));
        if (HWY_LIKELY(count == lanes && hn::AllTrue(d, usual))) {
            hn::StoreU(q, di, indices + i);
        } else {
            hn::Store(q, di, lattice);
            for (std::size_t j = done - i; j < count; ++j) {
                const bool fits = held(in[j], static_cast<T>(lattice[j]) * step, bound);
                const std::int32_t before = i + j > 0 ? indices[i + j - 1] : 0;
                indices[i + j] = fits ? lattice[j] : before;
                exact += fits ? 0 : 1;
            }
        }
        done = i + count;
    }
    return exact;
}

/// Sums of the lengths in bits of differences, a run of n values at a time.
void Activity(const std::int32_t* values, std::size_t runs, std::size_t n,
              std::uint32_t* activity) {
    const hn::CappedTag<std::int32_t, 16> di;
    const hn::RebindToUnsigned<decltype(di)> du;
    const hn::Rebind<float, decltype(di)> df;
    for (std::size_t r = 0; r < runs; ++r, values += n) {
        auto sum = hn::Zero(du);
        for (std::size_t i = 0; i + 1 < n; i += hn::Lanes(di)) {
            const auto wanted = hn::FirstN(di, n - 1 - i);
            const auto code =
                zigzag(hn::Sub(hn::LoadU(di, values + i + 1), hn::LoadU(di, values + i)));
            // A float's exponent; above 2^31 it does not matter.
            const auto positive = hn::And(code, hn::Set(di, 0x7fffffff));
            const auto some = hn::And(wanted, hn::Gt(positive, hn::Zero(di)));
            const auto exponent = hn::ShiftRight<23>(hn::BitCast(du, hn::ConvertTo(df, positive)));
            sum = hn::Add(sum, hn::IfThenElseZero(hn::RebindMask(du, some),
                                                  hn::Sub(exponent, hn::Set(du, 126))));
        }
        activity[r] = hn::GetLane(hn::SumOfLanes(du, sum));
    }
}

std::size_t IndicesFloat(const float* values, std::size_t n, float step, float bound,
                         std::int32_t* indices) {
    return Indices(values, n, step, bound, indices);
}
std::size_t IndicesDouble(const double* values, std::size_t n, double step, double bound,
                          std::int32_t* indices) {
    return Indices(values, n, step, bound, indices);
}

template <class T>
HWY_INLINE T Largest(const T* values, std::size_t n, T limit) {
    const typename Lanes<T>::D d;
    auto largest = hn::Zero(d);
    const auto end = hn::Set(d, limit);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
        const auto magnitude = hn::Abs(hn::LoadU(d, values + i));
        largest = hn::Max(largest, hn::IfThenElseZero(hn::Lt(magnitude, end), magnitude));
    }
    T result = hn::GetLane(hn::MaxOfLanes(d, largest));
    for (; i < n; ++i) {
        const T magnitude = std::abs(values[i]);
        if (magnitude < limit && magnitude > result) result = magnitude;
    }
    return result;
}
float LargestFloat(const float* values, std::size_t n, float limit) {
    return Largest(values, n, limit);
}
double LargestDouble(const double* values, std::size_t n, double limit) {
    return Largest(values, n, limit);
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(IndicesFloat);
HWY_EXPORT(IndicesDouble);
HWY_EXPORT(Activity);
HWY_EXPORT(LargestFloat);
HWY_EXPORT(LargestDouble);

template <>
std::size_t sample_indices(const float* values, std::size_t n, const Quantiser<float>& quantiser,
                           std::int32_t* indices) {
    return HWY_DYNAMIC_DISPATCH(IndicesFloat)(values, n, quantiser.step, quantiser.bound, indices);
}
template <>
std::size_t sample_indices(const double* values, std::size_t n, const Quantiser<double>& quantiser,
                           std::int32_t* indices) {
    return HWY_DYNAMIC_DISPATCH(IndicesDouble)(values, n, quantiser.step, quantiser.bound, indices);
}
template <>
float sample_largest(const float* values, std::size_t n, float limit) {
    return HWY_DYNAMIC_DISPATCH(LargestFloat)(values, n, limit);
}
template <>
double sample_largest(const double* values, std::size_t n, double limit) {
    return HWY_DYNAMIC_DISPATCH(LargestDouble)(values, n, limit);
}
void sample_activity(const std::int32_t* values, std::size_t runs, std::size_t n,
                     std::uint32_t* activity) {
    HWY_DYNAMIC_DISPATCH(Activity)(values, runs, n, activity);
}
}  // namespace caesura::codec
#endif
