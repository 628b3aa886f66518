#include "codec/kernels/logarithm_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/logarithm_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CAESURA_LOGARITHM_CONSTANTS
#define CAESURA_LOGARITHM_CONSTANTS
namespace caesura::codec {

/// What the two types need. Series are cut where the next term is below half a unit.
template <class T>
struct LogarithmConstants;

template <>
struct LogarithmConstants<float> {
    static constexpr int k_mantissa = 23;
    static constexpr int k_bias = 127;
    static constexpr std::int32_t k_sqrt_half_bits = 0x3f3504f3;
    static constexpr float k_lift_denormal = 16777216.0F;  // 2^24
    static constexpr int k_lift = 24;
    static constexpr float k_round = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float k_limit = 1024.0F;
    static constexpr int k_scale_limit = 252;
    static constexpr int k_log_terms = 5;
    static constexpr int k_exp_terms = 8;
};

template <>
struct LogarithmConstants<double> {
    static constexpr int k_mantissa = 52;
    static constexpr int k_bias = 1023;
    static constexpr std::int64_t k_sqrt_half_bits = 0x3fe6a09e667f3bcd;
    static constexpr double k_lift_denormal = 18014398509481984.0;  // 2^54
    static constexpr int k_lift = 54;
    static constexpr double k_round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double k_limit = 8192.0;
    static constexpr int k_scale_limit = 2044;
    static constexpr int k_log_terms = 10;
    static constexpr int k_exp_terms = 13;
};

/// 2 / (ln 2 (2k + 1)): log2(m) = sum over k of these times s^(2k+1), s = (m-1)/(m+1).
inline constexpr double k_log_series[] = {
    2.8853900817779268,  0.96179669392597560, 0.57707801635558536, 0.41219858311113240,
    0.32059889797532520, 0.26230818925253880, 0.22195308321368668, 0.19235933878519512,
    0.16972882833987805, 0.15186263588304878};
/// (ln 2)^k / k!: 2^r = sum over k of these times r^k.
inline constexpr double k_exp_series[] = {1.0,
                                          0.69314718055994531,
                                          0.24022650695910071,
                                          0.055504108664821580,
                                          0.0096181291076284772,
                                          0.0013333558146428443,
                                          0.00015403530393381608,
                                          1.5252733804059840e-05,
                                          1.3215486790144309e-06,
                                          1.0178086009239700e-07,
                                          7.0549116208011233e-09,
                                          4.4455382718708116e-10,
                                          2.5678435993488206e-11,
                                          1.3691488853904129e-12};

}  // namespace caesura::codec
#endif

HWY_BEFORE_NAMESPACE();
namespace caesura::codec {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// log2(x) - centre of positive finite x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log2(D d, V x, int centre) {
    using T = hn::TFromD<D>;
    using C = LogarithmConstants<T>;
    const hn::RebindToSigned<D> di;
    using I = hn::TFromD<decltype(di)>;
    const auto denormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
    x = hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, C::k_lift_denormal)), x);
    // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
    const auto bits = hn::BitCast(di, x);
    auto e = hn::ShiftRight<C::k_mantissa>(hn::Sub(bits, hn::Set(di, I{C::k_sqrt_half_bits})));
    const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<C::k_mantissa>(e)));
    const V one = hn::Set(d, T(1));
    const V s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
    const V z = hn::Mul(s, s);
    V sum = hn::Set(d, static_cast<T>(k_log_series[C::k_log_terms - 1]));
    for (int k = C::k_log_terms - 2; k >= 0; --k)
        sum = hn::Add(hn::Mul(sum, z), hn::Set(d, static_cast<T>(k_log_series[k])));
    const V lift = hn::IfThenElseZero(denormal, hn::Set(d, static_cast<T>(C::k_lift)));
    // Small integers in floating point: exact.
    const V whole = hn::Sub(hn::Sub(hn::ConvertTo(d, e), hn::Set(d, static_cast<T>(centre))), lift);
    return hn::Add(whole, hn::Mul(sum, s));
}

/// 2^(y + centre).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V y, int centre) {
    using T = hn::TFromD<D>;
    using C = LogarithmConstants<T>;
    const hn::RebindToSigned<D> di;
    using I = hn::TFromD<decltype(di)>;
    // Broken frames may bring anything, NaN included.
    y = hn::IfThenElseZero(hn::Lt(hn::Abs(y), hn::Set(d, C::k_limit)), y);
    const V round = hn::Set(d, C::k_round);
    const V lifted = hn::Add(y, round);
    const V r = hn::Sub(y, hn::Sub(lifted, round));  // exact, |r| <= 1/2
    V sum = hn::Set(d, static_cast<T>(k_exp_series[C::k_exp_terms]));
    for (int k = C::k_exp_terms - 1; k >= 0; --k)
        sum = hn::Add(hn::Mul(sum, r), hn::Set(d, static_cast<T>(k_exp_series[k])));
    // Scaled in two halves, so that neither power of two leaves the normal range and a denormal
    // result is rounded once.
    auto whole = hn::Add(hn::Sub(hn::BitCast(di, lifted), hn::BitCast(di, round)),
                         hn::Set(di, static_cast<I>(centre)));
    whole = hn::Max(hn::Min(whole, hn::Set(di, I{C::k_scale_limit})),
                    hn::Set(di, I{-C::k_scale_limit}));
    const auto half = hn::ShiftRight<1>(whole);
    const auto bias = hn::Set(di, I{C::k_bias});
    const V first = hn::BitCast(d, hn::ShiftLeft<C::k_mantissa>(hn::Add(half, bias)));
    const V second =
        hn::BitCast(d, hn::ShiftLeft<C::k_mantissa>(hn::Add(hn::Sub(whole, half), bias)));
    return hn::Mul(hn::Mul(sum, first), second);
}

/// Bits of a mask, lane 0 lowest.
template <class D, class M>
HWY_INLINE unsigned Bits(D d, M mask) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    const unsigned all = (hn::Lanes(d) == 16) ? 0xffffu : (1u << hn::Lanes(d)) - 1u;
    return (bytes[0] | static_cast<unsigned>(bytes[1]) << 8) & all;
}

template <class T>
HWY_INLINE void Forward16(const T* HWY_RESTRICT x, int centre, T* HWY_RESTRICT y,
                          unsigned* HWY_RESTRICT masks) {
    const hn::CappedTag<T, 16> d;
    const auto zero = hn::Zero(d);
    masks[0] = masks[1] = masks[2] = 0;
    for (size_t j = 0; j < 16; j += hn::Lanes(d)) {
        const auto value = hn::LoadU(d, x + j);
        const auto magnitude = hn::Abs(value);
        const auto is_zero = hn::Eq(magnitude, zero);
        const auto finite = hn::Le(magnitude, hn::Set(d, std::numeric_limits<T>::max()));
        // The sign bit moved into the value 1 or -1: a comparison sees it, also of -0 and NaN.
        const auto negative = hn::Lt(hn::CopySign(hn::Set(d, T(1)), value), zero);
        const auto usable =
            hn::IfThenElse(hn::AndNot(is_zero, finite), magnitude, hn::Set(d, T(1)));
        hn::StoreU(Log2(d, usable, centre), d, y + j);
        masks[0] |= Bits(d, negative) << j;
        masks[1] |= Bits(d, is_zero) << j;
        masks[2] |= Bits(d, hn::Not(finite)) << j;
    }
}

template <class T>
void Forward(const T* HWY_RESTRICT x, size_t n, int centre, T* HWY_RESTRICT y,
             const LogarithmMasks& out) {
    unsigned masks[3];
    const auto put = [&](size_t word, unsigned keep) {
        out.negative[word] = static_cast<uint16_t>(masks[0] & keep);
        out.zero[word] = static_cast<uint16_t>(masks[1] & keep);
        out.not_finite[word] = static_cast<uint16_t>(masks[2] & keep);
    };
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        Forward16<T>(x + i, centre, y + i, masks);
        put(i / 16, 0xffffu);
    }
    if (i == n) return;
    HWY_ALIGN T from[16] = {};
    HWY_ALIGN T to[16];
    std::memcpy(from, x + i, (n - i) * sizeof(T));
    Forward16<T>(from, centre, to, masks);
    put(i / 16, (1u << (n - i)) - 1u);
    std::memcpy(y + i, to, (n - i) * sizeof(T));
}

/// Lanes whose bit is set in a word, for the lanes from j on.
template <class D>
HWY_INLINE hn::Mask<D> Spread(D d, unsigned word, size_t j) {
    using T = hn::TFromD<D>;
    using U = hwy::MakeUnsigned<T>;
    const hn::RebindToUnsigned<D> du;
    HWY_ALIGN static constexpr U k_bits[16] = {1,   2,   4,    8,    16,   32,   64,    128,
                                               256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    const auto bit = hn::Load(du, k_bits + j);
    return hn::MaskFromVec(
        hn::BitCast(d, hn::VecFromMask(du, hn::TestBit(hn::Set(du, static_cast<U>(word)), bit))));
}

template <class T>
HWY_INLINE void Backward16(const T* y, int centre, unsigned negative, unsigned zero, T* x) {
    const hn::CappedTag<T, 16> d;
    for (size_t j = 0; j < 16; j += hn::Lanes(d)) {
        auto value = Exp2(d, hn::LoadU(d, y + j), centre);
        if (zero != 0) value = hn::IfThenZeroElse(Spread(d, zero, j), value);
        if (negative != 0) {
            const auto flip = hn::IfThenElseZero(Spread(d, negative, j), hn::SignBit(d));
            value = hn::Or(value, flip);
        }
        hn::StoreU(value, d, x + j);
    }
}

template <class T>
void Backward(const T* y, size_t n, int centre, const uint16_t* negative, const uint16_t* zero,
              T* x) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        Backward16<T>(y + i, centre, negative ? negative[i / 16] : 0u, zero ? zero[i / 16] : 0u,
                      x + i);
    }
    if (i == n) return;
    HWY_ALIGN T both[16] = {};
    std::memcpy(both, y + i, (n - i) * sizeof(T));
    Backward16<T>(both, centre, negative ? negative[i / 16] : 0u, zero ? zero[i / 16] : 0u, both);
    std::memcpy(x + i, both, (n - i) * sizeof(T));
}

HWY_INLINE auto LoadDouble(hn::CappedTag<double, 8> d, const double* from) {
    return hn::LoadU(d, from);
}
HWY_INLINE auto LoadDouble(hn::CappedTag<double, 8> d, const float* from) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), from));
}

template <class T>
bool Keeps(const T* HWY_RESTRICT x, const T* HWY_RESTRICT y, size_t n, double share) {
    const hn::CappedTag<double, 8> d;
    const size_t lanes = hn::Lanes(d);
    const auto factor = hn::Set(d, share);
    const auto keep = [&](const T* a, const T* b) HWY_ATTR {
        const auto value = LoadDouble(d, a);
        const auto difference = hn::Abs(hn::Sub(value, LoadDouble(d, b)));
        return hn::Le(difference, hn::Mul(factor, hn::Abs(value)));
    };
    auto all = hn::Eq(factor, factor);
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) all = hn::And(all, keep(x + i, y + i));
    if (i < n) {
        HWY_ALIGN T from[8] = {};
        HWY_ALIGN T to[8] = {};
        std::memcpy(from, x + i, (n - i) * sizeof(T));
        std::memcpy(to, y + i, (n - i) * sizeof(T));
        all = hn::And(all, keep(from, to));
    }
    return hn::AllTrue(d, all);
}

bool KeepsF32(const float* x, const float* y, size_t n, double share) {
    return Keeps(x, y, n, share);
}
bool KeepsF64(const double* x, const double* y, size_t n, double share) {
    return Keeps(x, y, n, share);
}
void ForwardF32(const float* x, size_t n, int centre, float* y, const LogarithmMasks& masks) {
    Forward(x, n, centre, y, masks);
}
void ForwardF64(const double* x, size_t n, int centre, double* y, const LogarithmMasks& masks) {
    Forward(x, n, centre, y, masks);
}
void BackwardF32(const float* y, size_t n, int centre, const uint16_t* negative,
                 const uint16_t* zero, float* x) {
    Backward(y, n, centre, negative, zero, x);
}
void BackwardF64(const double* y, size_t n, int centre, const uint16_t* negative,
                 const uint16_t* zero, double* x) {
    Backward(y, n, centre, negative, zero, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace caesura::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {

HWY_EXPORT(KeepsF32);
HWY_EXPORT(KeepsF64);
HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);

void forward_logarithm(const float* x, std::size_t n, int centre, float* y,
                       const LogarithmMasks& masks) {
    HWY_DYNAMIC_DISPATCH(ForwardF32)(x, n, centre, y, masks);
}
void forward_logarithm(const double* x, std::size_t n, int centre, double* y,
                       const LogarithmMasks& masks) {
    HWY_DYNAMIC_DISPATCH(ForwardF64)(x, n, centre, y, masks);
}
void backward_logarithm(const float* y, std::size_t n, int centre, const std::uint16_t* negative,
                        const std::uint16_t* zero, float* x) {
    HWY_DYNAMIC_DISPATCH(BackwardF32)(y, n, centre, negative, zero, x);
}
void backward_logarithm(const double* y, std::size_t n, int centre, const std::uint16_t* negative,
                        const std::uint16_t* zero, double* x) {
    HWY_DYNAMIC_DISPATCH(BackwardF64)(y, n, centre, negative, zero, x);
}

bool keeps_share(const float* x, const float* y, std::size_t n, double share) {
    return HWY_DYNAMIC_DISPATCH(KeepsF32)(x, y, n, share);
}
bool keeps_share(const double* x, const double* y, std::size_t n, double share) {
    return HWY_DYNAMIC_DISPATCH(KeepsF64)(x, y, n, share);
}

}  // namespace caesura::codec
#endif
