// Vector steps that the predictors share: rounding to the lattice and back, zigzag, and moves of
// 32-bit integers across lanes that Highway 1.0.3 lacks.
//
// Invariants:
//  - Every function gives the same bits per value on every target, for any number of lanes.
//  - A value vector of T and a vector of its 32-bit lattice integers have the same lane count.
//
// Included once per target, like Highway's own -inl.h files.
#if defined(CAESURA_CODEC_SIMD_LATTICE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CAESURA_CODEC_SIMD_LATTICE_INL
#undef CAESURA_CODEC_SIMD_LATTICE_INL
#else
#define CAESURA_CODEC_SIMD_LATTICE_INL
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The vectors of a value type: at most 64 bytes, so that scalable vectors have a known limit.
template <class T>
struct Lanes {
    using D = hn::CappedTag<T, 64 / sizeof(T)>;
    using DI = hn::Rebind<std::int32_t, D>;
    using DU = hn::Rebind<std::uint32_t, D>;
    using DBits = hn::RebindToSigned<D>;  // the values' own bits
    using V = hn::Vec<D>;
    using VI = hn::Vec<DI>;
    using VU = hn::Vec<DU>;
    using M = hn::Mask<D>;
};

// ------------------------------------------------------------------------ rounding and back

/// Nearest integers, ties to even. What does not fit 32 bits (or is NaN) becomes an integer that
/// to_values() takes so far away that the bound check fails.
HWY_INLINE Lanes<float>::VI to_lattice(Lanes<float>::V t) {
    // hn::NearestInt saturates, which costs three operations and is not needed here.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    return Lanes<float>::VI{_mm512_cvtps_epi32(t.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Lanes<float>::VI{_mm256_cvtps_epi32(t.raw)};
#elif HWY_TARGET == HWY_SSE4
    return Lanes<float>::VI{_mm_cvtps_epi32(t.raw)};
#elif HWY_TARGET == HWY_EMU128
    // Highway's emulation rounds through double and is undefined for NaN; in range this is exact.
    const Lanes<float>::D d;
    const Lanes<float>::DI di;
    alignas(64) float values[HWY_MAX_BYTES / 4];
    alignas(64) std::int32_t integers[HWY_MAX_BYTES / 4];
    hn::Store(t, d, values);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
        const bool fits = values[i] >= -2147483648.0F && values[i] < 2147483648.0F;
        integers[i] = fits ? static_cast<std::int32_t>(__builtin_rint(values[i]))
                           : std::numeric_limits<std::int32_t>::min();
    }
    return hn::Load(di, integers);
#else
    // Arm saturates upwards to 2^31 - 1, which no float rounds to: send it where x86 does.
    const Lanes<float>::DI di;
    const auto q = hn::NearestInt(t);
    const auto largest = hn::Set(di, std::numeric_limits<std::int32_t>::max());
    return hn::Xor(q, hn::VecFromMask(di, hn::Eq(q, largest)));
#endif
}

HWY_INLINE Lanes<float>::V to_values(Lanes<float>::VI q) {
    return hn::ConvertTo(Lanes<float>::D(), q);
}

// Adding 1.5 * 2^52 leaves the rounded integer in the low bits, on every target alike.
HWY_INLINE Lanes<double>::VI to_lattice(Lanes<double>::V t) {
    const Lanes<double>::D d;
    const hn::RebindToUnsigned<Lanes<double>::D> du64;
    const Lanes<double>::DU du32;
    const auto shifted = hn::BitCast(du64, hn::Add(t, hn::Set(d, 6755399441055744.0)));
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    (void)du32;
    return Lanes<double>::VI{_mm512_cvtepi64_epi32(shifted.raw)};
#else
    return hn::BitCast(Lanes<double>::DI(), hn::TruncateTo(du32, shifted));
#endif
}

HWY_INLINE Lanes<double>::V to_values(Lanes<double>::VI q) {
    return hn::PromoteTo(Lanes<double>::D(), q);
}

/// to_values(to_lattice(t)) for what fits, but for the sign of zeros: not for decoders. Takes no
/// longer than to_lattice() does, so that what follows need not wait for both.
HWY_INLINE Lanes<float>::V rounded_values(Lanes<float>::V t) {
#if HWY_TARGET <= HWY_SSE4 && HWY_ARCH_X86
    return hn::Round(t);
#else
    return to_values(to_lattice(t));
#endif
}

HWY_INLINE Lanes<double>::V rounded_values(Lanes<double>::V t) {
    const auto shift = hn::Set(Lanes<double>::D(), 6755399441055744.0);
    return hn::Sub(hn::Add(t, shift), shift);
}

/// Lanes where a is not less than b, or either is NaN.
template <class V>
HWY_INLINE auto not_less(V a, V b) {
    using T = hn::TFromD<hn::DFromV<V>>;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (sizeof(T) == 4) {
        return typename Lanes<T>::M{_mm512_cmp_ps_mask(a.raw, b.raw, _CMP_NLT_UQ)};
    } else {
        return typename Lanes<T>::M{_mm512_cmp_pd_mask(a.raw, b.raw, _CMP_NLT_UQ)};
    }
#else
    return hn::RebindMask(typename Lanes<T>::D(), hn::Not(hn::Lt(a, b)));
#endif
}

/// Lanes where to_values(q) is not `rounded`, or q is -2^31, whose zigzag marks exact values.
HWY_INLINE Lanes<float>::M outside_lattice(Lanes<float>::VI q, Lanes<float>::V) {
    const Lanes<float>::DI di;
    return hn::RebindMask(Lanes<float>::D(),
                          hn::Eq(q, hn::Set(di, std::numeric_limits<std::int32_t>::min())));
}

HWY_INLINE Lanes<double>::M outside_lattice(Lanes<double>::VI, Lanes<double>::V rounded) {
    return not_less(hn::Abs(rounded), hn::Set(Lanes<double>::D(), 2147483648.0));
}

/// Is a lane of either mask set?
template <class T>
HWY_INLINE bool any_lane(typename Lanes<T>::M a, typename Lanes<T>::M b) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (sizeof(T) == 4) {
        return _kortestz_mask16_u8(a.raw, b.raw) == 0;
    } else {
        return _kortestz_mask8_u8(a.raw, b.raw) == 0;
    }
#else
    return !hn::AllFalse(typename Lanes<T>::D(), hn::Or(a, b));
#endif
}

/// Lanes that are -0 or denormal, but not +0.
template <class V>
HWY_INLINE auto tiny_lanes(V v) {
    using T = hn::TFromD<hn::DFromV<V>>;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    constexpr int k_denormal_or_minus_zero = 0x24;
    if constexpr (sizeof(T) == 4) {
        return typename Lanes<T>::M{_mm512_fpclass_ps_mask(v.raw, k_denormal_or_minus_zero)};
    } else {
        return typename Lanes<T>::M{_mm512_fpclass_pd_mask(v.raw, k_denormal_or_minus_zero)};
    }
#else
    const typename Lanes<T>::D d;
    const typename Lanes<T>::DBits db;
    using Bits = hn::TFromD<typename Lanes<T>::DBits>;
    constexpr Bits k_mantissa = (Bits{1} << (std::numeric_limits<T>::digits - 1)) - 1;
    constexpr Bits k_exponent = std::numeric_limits<Bits>::max() - k_mantissa;
    const auto zero = hn::Zero(db);
    const auto bits = hn::BitCast(db, v);
    return hn::RebindMask(
        d, hn::AndNot(hn::Eq(bits, zero), hn::Eq(hn::And(bits, hn::Set(db, k_exponent)), zero)));
#endif
}

// --------------------------------------------------------------------------- codes

/// 0, -1, 1, -2 ... to 0, 1, 2, 3 ...
template <class VI>
HWY_INLINE VI zigzag(VI r) {
    return hn::Xor(hn::Add(r, r), hn::ShiftRight<31>(r));
}

template <class VI>
HWY_INLINE VI unzigzag(VI z) {
    const hn::DFromV<VI> di;
    const hn::RebindToUnsigned<hn::DFromV<VI>> du;
    const VI half = hn::BitCast(di, hn::ShiftRight<1>(hn::BitCast(du, z)));
    const VI sign = hn::Sub(hn::Zero(di), hn::And(z, hn::Set(di, 1)));
    return hn::Xor(half, sign);
}

// --------------------------------------------------------------------------- across lanes

/// Lane i is current[i - 1]; lane 0 is the last lane of previous.
template <class VI>
HWY_INLINE VI shift_in(VI current, VI previous) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (sizeof(current.raw) == 64) {
        return VI{_mm512_alignr_epi32(current.raw, previous.raw, 15)};
    } else {
        return VI{_mm256_alignr_epi32(current.raw, previous.raw, 7)};
    }
#else
    const hn::DFromV<VI> di;
#if HWY_TARGET == HWY_AVX2
    if constexpr (sizeof(current.raw) == 32) {
        const auto middle = _mm256_permute2x128_si256(previous.raw, current.raw, 0x21);
        return VI{_mm256_alignr_epi8(current.raw, middle, 12)};
    }
#endif
    if constexpr (hn::MaxLanes(hn::DFromV<VI>()) == 4 && !HWY_HAVE_SCALABLE) {
        return hn::CombineShiftRightBytes<12>(di, current, previous);
    } else {
        const hn::RebindToUnsigned<hn::DFromV<VI>> du;
        const auto n = static_cast<std::uint32_t>(hn::Lanes(di));
        const auto rotate =
            hn::And(hn::Add(hn::Iota(du, 0), hn::Set(du, n - 1)), hn::Set(du, n - 1));
        const auto indices = hn::IndicesFromVec(di, rotate);
        return hn::IfThenElse(hn::FirstN(di, 1), hn::TableLookupLanes(previous, indices),
                              hn::TableLookupLanes(current, indices));
    }
#endif
}

/// Every lane is the last one of v.
template <class VI>
HWY_INLINE VI broadcast_last(VI v) {
    const hn::DFromV<VI> di;
    const auto last = hn::Set(di, static_cast<std::int32_t>(hn::Lanes(di)) - 1);
    return hn::TableLookupLanes(v, hn::IndicesFromVec(di, last));
}

// One step of the generic scan: add what lies k_distance lanes lower.
template <int k_distance, class VI>
HWY_INLINE VI scan_step(VI v) {
    const hn::DFromV<VI> di;
    const hn::RebindToUnsigned<hn::DFromV<VI>> du;
    const auto n = static_cast<std::uint32_t>(hn::Lanes(di));
    if (static_cast<std::uint32_t>(k_distance) >= n) return v;
    const auto lanes = hn::Iota(du, 0);
    const auto from = hn::And(hn::Sub(lanes, hn::Set(du, k_distance)), hn::Set(du, n - 1));
    const auto moved = hn::TableLookupLanes(v, hn::IndicesFromVec(di, from));
    return hn::Add(v, hn::IfThenZeroElse(hn::FirstN(di, k_distance), moved));
}

/// Lane i becomes v[0] + ... + v[i], modulo 2^32.
template <class VI>
HWY_INLINE VI prefix_sum(VI v) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    if constexpr (sizeof(v.raw) == 64) {
        const __m512i zero = _mm512_setzero_si512();
        __m512i s = v.raw;
        s = _mm512_add_epi32(s, _mm512_alignr_epi32(s, zero, 15));
        s = _mm512_add_epi32(s, _mm512_alignr_epi32(s, zero, 14));
        s = _mm512_add_epi32(s, _mm512_alignr_epi32(s, zero, 12));
        return VI{_mm512_add_epi32(s, _mm512_alignr_epi32(s, zero, 8))};
    } else {
        const __m256i zero = _mm256_setzero_si256();
        __m256i s = v.raw;
        s = _mm256_add_epi32(s, _mm256_alignr_epi32(s, zero, 7));
        s = _mm256_add_epi32(s, _mm256_alignr_epi32(s, zero, 6));
        return VI{_mm256_add_epi32(s, _mm256_alignr_epi32(s, zero, 4))};
    }
#else
#if HWY_TARGET == HWY_AVX2
    if constexpr (sizeof(v.raw) == 32) {
        __m256i s = v.raw;
        s = _mm256_add_epi32(s, _mm256_slli_si256(s, 4));
        s = _mm256_add_epi32(s, _mm256_slli_si256(s, 8));
        const __m256i lower = _mm256_permute2x128_si256(s, s, 0x08);  // zeros below
        return VI{_mm256_add_epi32(s, _mm256_shuffle_epi32(lower, 0xff))};
    }
#endif
    if constexpr (hn::MaxLanes(hn::DFromV<VI>()) == 4 && !HWY_HAVE_SCALABLE) {
        v = hn::Add(v, hn::ShiftLeftLanes<1>(v));
        return hn::Add(v, hn::ShiftLeftLanes<2>(v));
    } else {
        return scan_step<8>(scan_step<4>(scan_step<2>(scan_step<1>(v))));
    }
#endif
}

/// Every second lane of two vectors, from the first (k_from 0) or the second (1) on.
template <class T, int k_from>
HWY_INLINE typename Lanes<T>::V every_second(typename Lanes<T>::V lower,
                                             typename Lanes<T>::V upper) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    // Highway's masked form loads its indices anew each time.
    if constexpr (sizeof(T) == 4) {
        const __m512i lanes = _mm512_add_epi32(
            _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
            _mm512_set1_epi32(k_from));
        return {_mm512_permutex2var_ps(lower.raw, lanes, upper.raw)};
    } else {
        const __m512i lanes = _mm512_add_epi64(_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
                                               _mm512_set1_epi64(k_from));
        return {_mm512_permutex2var_pd(lower.raw, lanes, upper.raw)};
    }
#else
    const typename Lanes<T>::D d;
    return k_from == 0 ? hn::ConcatEven(d, upper, lower) : hn::ConcatOdd(d, upper, lower);
#endif
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Highway's way to interleave takes eight operations; two-table look-ups take two.

/// even[0], odd[0], even[1], odd[1], ...
template <class T>
HWY_INLINE typename Lanes<T>::V interleave_lower(typename Lanes<T>::V even,
                                                 typename Lanes<T>::V odd) {
    if constexpr (sizeof(T) == 4) {
        const __m512i lanes =
            _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        return {_mm512_permutex2var_ps(even.raw, lanes, odd.raw)};
    } else {
        const __m512i lanes = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        return {_mm512_permutex2var_pd(even.raw, lanes, odd.raw)};
    }
}

/// What follows interleave_lower().
template <class T>
HWY_INLINE typename Lanes<T>::V interleave_upper(typename Lanes<T>::V even,
                                                 typename Lanes<T>::V odd) {
    if constexpr (sizeof(T) == 4) {
        const __m512i lanes =
            _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
        return {_mm512_permutex2var_ps(even.raw, lanes, odd.raw)};
    } else {
        const __m512i lanes = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
        return {_mm512_permutex2var_pd(even.raw, lanes, odd.raw)};
    }
}
#endif

/// even[0], odd[0], even[1], odd[1], ...
template <class T>
HWY_INLINE void store_interleaved(typename Lanes<T>::V even, typename Lanes<T>::V odd, T* out) {
    const typename Lanes<T>::D d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    hn::StoreU(interleave_lower<T>(even, odd), d, out);
    hn::StoreU(interleave_upper<T>(even, odd), d, out + hn::Lanes(d));
#else
    hn::StoreInterleaved2(even, odd, d, out);
#endif
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
