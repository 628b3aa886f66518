// Short loops, compiled once per instruction set.
//
// Invariant: results are the same on every machine. Nothing is reassociated.
//
// Loops with a comparison use Highway's vectors. The compiler turns such a comparison into a branch
// for each value, and no processor predicts it.
#include "codec/kernels/sample_kernels.hpp"

#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/sample_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rounds |x| < k_limit to the nearest integer by the width of the mantissa; clamps the rest, and
/// NaN to the lower limit.
template <class T>
struct Rounding;
template <>
struct Rounding<float> {
    static constexpr float k_shift = 12582912.0F;  // 1.5 * 2^23
    static constexpr float k_limit = 4194303.0F;
};
template <>
struct Rounding<double> {
    static constexpr double k_shift = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double k_limit = 2147483000.0;
};

template <class T>
HWY_INLINE T round_within(T x) {
    x = x > -Rounding<T>::k_limit ? x : -Rounding<T>::k_limit;
    x = x < Rounding<T>::k_limit ? x : Rounding<T>::k_limit;
    return (x + Rounding<T>::k_shift) - Rounding<T>::k_shift;
}

HWY_INLINE std::uint32_t zigzag(std::int32_t r) {
    return (static_cast<std::uint32_t>(r) << 1) ^ static_cast<std::uint32_t>(r >> 31);
}

/// Whole numbers as such.
template <class DI, class V>
HWY_INLINE hn::Vec<DI> ToIndices(DI di, V whole) {
    if constexpr (sizeof(hn::TFromV<V>) == sizeof(float)) {
        return hn::ConvertTo(di, whole);
    } else {
        return hn::DemoteTo(di, whole);
    }
}

/// round_within() of every lane.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundWithin(D d, V x) {
    using R = Rounding<hn::TFromD<D>>;
    const V least = hn::Set(d, -R::k_limit), most = hn::Set(d, R::k_limit);
    const V shift = hn::Set(d, R::k_shift);
    x = hn::IfThenElse(hn::Gt(x, least), x, least);
    x = hn::IfThenElse(hn::Lt(x, most), x, most);
    return hn::Sub(hn::Add(x, shift), shift);
}

/// The codes of a row, and what its targets will be off by.
template <class T>
HWY_INLINE void Interpolate(const SampledRow<T>& row, T step, bool cubic, T feedback, T* residual,
                            std::uint32_t* codes) {
    const hn::ScalableTag<T> d;
    const hn::Rebind<std::int32_t, decltype(d)> di;
    const std::size_t lanes = hn::Lanes(d);
    const T inverse = T{1} / step;
    const T near_weight = cubic ? T{0.5625} : T{0.5};
    const T far_weight = cubic ? T{0.0625} : T{0};
    std::size_t i = 0;
    for (; i + lanes <= row.n; i += lanes) {
        const auto sum = [&](const T* below, const T* above) {
            return hn::Add(hn::LoadU(d, below + i), hn::LoadU(d, above + i));
        };
        const auto near = hn::Mul(hn::Set(d, near_weight), sum(row.near_below, row.near_above));
        const auto far = hn::Mul(hn::Set(d, far_weight), sum(row.far_below, row.far_above));
        const auto interpolated = hn::Sub(near, far);
        const auto predicted =
            hn::Add(interpolated, hn::Mul(hn::Set(d, feedback), hn::LoadU(d, residual + i)));
        const auto off =
            hn::Mul(hn::Sub(hn::LoadU(d, row.target + i), predicted), hn::Set(d, inverse));
        const auto r = RoundWithin(d, off);
        hn::StoreU(hn::Sub(hn::Add(predicted, hn::Mul(r, hn::Set(d, step))), interpolated), d,
                   residual + i);
        const auto whole = ToIndices(di, r);
        const auto code = hn::Xor(hn::ShiftLeft<1>(whole), hn::ShiftRight<31>(whole));
        hn::StoreU(code, di, reinterpret_cast<std::int32_t*>(codes + i));
    }
    for (; i < row.n; ++i) {
        const T interpolated = near_weight * (row.near_below[i] + row.near_above[i]) -
                               far_weight * (row.far_below[i] + row.far_above[i]);
        const T predicted = interpolated + feedback * residual[i];
        const T r = round_within((row.target[i] - predicted) * inverse);
        residual[i] = predicted + r * step - interpolated;
        codes[i] = zigzag(static_cast<std::int32_t>(r));
    }
}
void InterpolateFloat(const SampledRow<float>& row, float step, bool cubic, float feedback,
                      float* residual, std::uint32_t* codes) {
    Interpolate(row, step, cubic, feedback, residual, codes);
}
void InterpolateDouble(const SampledRow<double>& row, double step, bool cubic, double feedback,
                       double* residual, std::uint32_t* codes) {
    Interpolate(row, step, cubic, feedback, residual, codes);
}

template <class T>
HWY_INLINE void LatticeOfRow(const T* values, std::size_t n, T step, T* out) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const T inverse = T{1} / step;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto x = hn::Mul(hn::LoadU(d, values + i), hn::Set(d, inverse));
        hn::StoreU(hn::Mul(RoundWithin(d, x), hn::Set(d, step)), d, out + i);
    }
    for (; i < n; ++i) out[i] = round_within(values[i] * inverse) * step;
}

/// Of constant strides the compiler makes loads and shuffles.
template <std::size_t k_apart, class T>
HWY_INLINE void LatticeApart(const T* values, std::size_t n, T step, T* HWY_RESTRICT out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = values[i * k_apart];
    LatticeOfRow(out, n, step, out);
}
template <class T>
HWY_INLINE void Lattice(const T* values, std::size_t apart, std::size_t n, T step, T* out) {
    switch (apart) {
        case 1:
            return LatticeOfRow(values, n, step, out);
        case 2:
            return LatticeApart<2>(values, n, step, out);
        case 4:
            return LatticeApart<4>(values, n, step, out);
        default:
            for (std::size_t i = 0; i < n; ++i) out[i] = values[i * apart];
            LatticeOfRow(out, n, step, out);
    }
}
void LatticeFloat(const float* values, std::size_t apart, std::size_t n, float step, float* out) {
    Lattice(values, apart, n, step, out);
}
void LatticeDouble(const double* values, std::size_t apart, std::size_t n, double step,
                   double* out) {
    Lattice(values, apart, n, step, out);
}

HWY_INLINE std::int32_t minus(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
void Difference(const std::int32_t* a, const std::int32_t* b, std::size_t n, std::int32_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = minus(a[i], b[i]);
}
void Codes(const std::int32_t* values, std::size_t rows, std::size_t n, bool along_x,
           std::uint32_t* codes) {
    for (std::size_t r = 0; r < rows; ++r, values += n + 1, codes += n) {
        if (along_x) {
            for (std::size_t i = 0; i < n; ++i) codes[i] = zigzag(minus(values[i + 1], values[i]));
        } else {
            for (std::size_t i = 0; i < n; ++i) codes[i] = zigzag(values[i + 1]);
        }
    }
}
}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(InterpolateFloat);
HWY_EXPORT(InterpolateDouble);
HWY_EXPORT(LatticeFloat);
HWY_EXPORT(LatticeDouble);
HWY_EXPORT(Difference);
HWY_EXPORT(Codes);

template <>
void sample_interpolation(const SampledRow<float>& row, float step, bool cubic, float feedback,
                          float* residual, std::uint32_t* codes) {
    HWY_DYNAMIC_DISPATCH(InterpolateFloat)(row, step, cubic, feedback, residual, codes);
}
template <>
void sample_interpolation(const SampledRow<double>& row, double step, bool cubic, double feedback,
                          double* residual, std::uint32_t* codes) {
    HWY_DYNAMIC_DISPATCH(InterpolateDouble)(row, step, cubic, feedback, residual, codes);
}
template <>
void sample_lattice(const float* values, std::size_t apart, std::size_t n, float step, float* out) {
    HWY_DYNAMIC_DISPATCH(LatticeFloat)(values, apart, n, step, out);
}
template <>
void sample_lattice(const double* values, std::size_t apart, std::size_t n, double step,
                    double* out) {
    HWY_DYNAMIC_DISPATCH(LatticeDouble)(values, apart, n, step, out);
}
void sample_difference(const std::int32_t* a, const std::int32_t* b, std::size_t n,
                       std::int32_t* out) {
    HWY_DYNAMIC_DISPATCH(Difference)(a, b, n, out);
}
void sample_codes(const std::int32_t* values, std::size_t rows, std::size_t n, bool along_x,
                  std::uint32_t* codes) {
    HWY_DYNAMIC_DISPATCH(Codes)(values, rows, n, along_x, codes);
}
}  // namespace caesura::codec
#endif
