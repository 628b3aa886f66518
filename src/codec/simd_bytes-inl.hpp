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

#include "codec/lane_shuffles.hpp"

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

/// Write the chosen bytes of `v`, lowest lane first. Returns where the next one goes.
HWY_INLINE std::uint8_t* compress_bytes(V8 v, hn::Mask<D8> mask, std::uint8_t* out) {
    const std::uint64_t bits = mask_bits(mask);
#if HWY_TARGET == HWY_AVX3_DL
    // Into a register first: the form that stores is microcoded on Zen 4.
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask.raw, v.raw));
    return out + std::popcount(bits);
#else
    alignas(64) std::uint8_t bytes[64 + 8];
    const D8 d;
    const hn::CappedTag<std::uint8_t, 16> d128;
    hn::Store(v, d, bytes);
    for (std::size_t i = 0; i < hn::Lanes(d); i += 8) {
        const unsigned chosen = static_cast<unsigned>(bits >> i) & 0xffU;
        const auto shuffle = hn::LoadU(d128, k_compress_shuffles[chosen]);
        hn::StoreU(hn::TableLookupBytes(hn::LoadU(d128, bytes + i), shuffle), d128, out);
        out += std::popcount(chosen);
    }
    return out;
#endif
}

/// Where `mask` is set the next bytes of `in`, elsewhere `v`.
HWY_INLINE V8 expand_bytes(V8 v, hn::Mask<D8> mask, const std::uint8_t* in) {
#if HWY_TARGET == HWY_AVX3_DL
    return V8{_mm512_mask_expand_epi8(v.raw, mask.raw, _mm512_loadu_si512(in))};
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
