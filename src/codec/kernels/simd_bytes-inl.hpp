// Byte operations that Highway 1.0.3 lacks: pack, compress and expand, per instruction set.
//
// Invariants:
//  - Everything works in 16-byte blocks in memory order, so that the result in memory is the same
//    for vectors of 16, 32 or 64 bytes.
//  - compress and expand touch up to k_lanes bytes from where they start, whatever the mask.
//
// Included once per target, like Highway's own -inl.h files.
#if defined(CAESURA_CODEC_SIMD_BYTES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CAESURA_CODEC_SIMD_BYTES_INL
#undef CAESURA_CODEC_SIMD_BYTES_INL
#else
#define CAESURA_CODEC_SIMD_BYTES_INL
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "codec/kernels/lane_shuffles.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whole 64-byte vectors where there are any; scalable vectors stay at one block, since their block
// operations are slow and their length unknown.
#if HWY_HAVE_SCALABLE
using D8 = hn::CappedTag<std::uint8_t, 16>;
#else
using D8 = hn::CappedTag<std::uint8_t, 64>;
#endif
using V8 = hn::Vec<D8>;
using D16 = hn::Repartition<std::uint16_t, D8>;
using V16 = hn::Vec<D16>;

/// Undo InterleaveLower/InterleaveUpper of bytes: per block the low bytes of `lower`, then of
/// `upper`. Every 16-bit lane must be below 256.
HWY_INLINE V8 pack_bytes(V16 lower, V16 upper) {
#if HWY_TARGET <= HWY_AVX3
    return V8{_mm512_packus_epi16(lower.raw, upper.raw)};
#elif HWY_TARGET == HWY_AVX2
    return V8{_mm256_packus_epi16(lower.raw, upper.raw)};
#else
    const D8 d;
    return hn::ConcatEven(d, hn::BitCast(d, upper), hn::BitCast(d, lower));
#endif
}

/// One bit per byte, lane 0 lowest.
HWY_INLINE std::uint64_t mask_bits(hn::Mask<D8> mask) {
#if HWY_TARGET <= HWY_AVX3
    return mask.raw;
#elif HWY_TARGET == HWY_AVX2
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(hn::VecFromMask(D8(), mask).raw));
#else
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(D8(), mask, bytes);
    std::uint64_t bits;
    std::memcpy(&bits, bytes, 8);
    return hn::Lanes(D8()) >= 64 ? bits : bits & ((std::uint64_t{1} << hn::Lanes(D8())) - 1);
#endif
}

#if HWY_TARGET == HWY_AVX2
/// Bytes 8 i to 8 i + 7 of a mask's bits, as a row of shuffles.
template <int i>
HWY_INLINE __m128i shuffle_of(const ByteShuffles& shuffles, std::uint64_t bits) {
    const unsigned chosen = static_cast<unsigned>(bits >> (8 * i)) & 0xffU;
    return _mm_load_si128(reinterpret_cast<const __m128i*>(shuffles[chosen]));
}
/// How many are chosen among the first 8 i.
template <int i>
HWY_INLINE int chosen_before(std::uint64_t bits) {
    return std::popcount(static_cast<std::uint32_t>(bits) & ((1U << (8 * i)) - 1));
}
#endif

/// Write the chosen bytes of `v`, lowest lane first. Returns where the next one goes.
HWY_INLINE std::uint8_t* compress_bytes(V8 v, hn::Mask<D8> mask, std::uint8_t* out) {
    const std::uint64_t bits = mask_bits(mask);
#if HWY_TARGET == HWY_AVX3_DL
    // Into a register first: the form that stores is microcoded on Zen 4.
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask.raw, v.raw));
    return out + std::popcount(bits);
#elif HWY_TARGET == HWY_AVX2
    const auto put = [out](__m128i bytes, __m128i shuffle, int before) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out + before),
                         _mm_shuffle_epi8(bytes, shuffle));
    };
    const __m128i lower = _mm256_castsi256_si128(v.raw);
    const __m128i upper = _mm256_extracti128_si256(v.raw, 1);
    put(lower, shuffle_of<0>(k_compress_shuffles, bits), 0);
    put(_mm_unpackhi_epi64(lower, lower), shuffle_of<1>(k_compress_shuffles, bits),
        chosen_before<1>(bits));
    put(upper, shuffle_of<2>(k_compress_shuffles, bits), chosen_before<2>(bits));
    put(_mm_unpackhi_epi64(upper, upper), shuffle_of<3>(k_compress_shuffles, bits),
        chosen_before<3>(bits));
    return out + std::popcount(bits);
#else
    alignas(64) std::uint8_t bytes[64];
    const D8 d;
    const hn::CappedTag<std::uint8_t, 16> d128;
    const hn::CappedTag<std::uint8_t, 8> d64;
    hn::Store(v, d, bytes);
    for (std::size_t i = 0; i < hn::Lanes(d); i += 8) {
        const unsigned chosen = static_cast<unsigned>(bits >> i) & 0xffU;
        const auto shuffle = hn::LoadU(d128, k_compress_shuffles[chosen]);
        // Eight bytes at a time, so that all of them come out of the one store above.
        const auto eight = hn::ZeroExtendVector(d128, hn::LoadU(d64, bytes + i));
        hn::StoreU(hn::TableLookupBytes(eight, shuffle), d128, out);
        out += std::popcount(chosen);
    }
    return out;
#endif
}

/// Where `mask` is set the next bytes of `in`, elsewhere `v`.
HWY_INLINE V8 expand_bytes(V8 v, hn::Mask<D8> mask, const std::uint8_t* in) {
#if HWY_TARGET == HWY_AVX3_DL
    return V8{_mm512_mask_expand_epi8(v.raw, mask.raw, _mm512_loadu_si512(in))};
#elif HWY_TARGET == HWY_AVX2
    const std::uint64_t bits = mask_bits(mask);
    const auto get = [in](__m128i shuffle, int before) {
        return _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + before)),
                                shuffle);
    };
    const __m128i lower =
        _mm_unpacklo_epi64(get(shuffle_of<0>(k_expand_shuffles, bits), 0),
                           get(shuffle_of<1>(k_expand_shuffles, bits), chosen_before<1>(bits)));
    const __m128i upper =
        _mm_unpacklo_epi64(get(shuffle_of<2>(k_expand_shuffles, bits), chosen_before<2>(bits)),
                           get(shuffle_of<3>(k_expand_shuffles, bits), chosen_before<3>(bits)));
    return hn::IfThenElse(mask, V8{_mm256_set_m128i(upper, lower)}, v);
#else
    const std::uint64_t bits = mask_bits(mask);
    alignas(64) std::uint8_t bytes[64 + 8];
    const D8 d;
    const hn::CappedTag<std::uint8_t, 16> d128;
    for (std::size_t i = 0; i < hn::Lanes(d); i += 8) {
        const unsigned chosen = static_cast<unsigned>(bits >> i) & 0xffU;
        const auto shuffle = hn::LoadU(d128, k_expand_shuffles[chosen]);
        hn::StoreU(hn::TableLookupBytes(hn::LoadU(d128, in), shuffle), d128, bytes + i);
        in += std::popcount(chosen);
    }
    return hn::IfThenElse(mask, hn::Load(d, bytes), v);
#endif
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
