// Operations on vectors of up to 16 codes that Highway 1.0.3 lacks or does slowly.
//
// Included once per target, like Highway's own -inl.h files.
#if defined(CAESURA_CODEC_SIMD_WORDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CAESURA_CODEC_SIMD_WORDS_INL
#undef CAESURA_CODEC_SIMD_WORDS_INL
#else
#define CAESURA_CODEC_SIMD_WORDS_INL
#endif

#include <hwy/highway.h>

#include <bit>

#include "codec/kernels/lane_shuffles.hpp"
#include "codec/kernels/simd_bytes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<std::uint32_t, 16>;
using V32 = hn::Vec<D32>;
using M32 = hn::Mask<D32>;
inline constexpr std::size_t k_words = hn::MaxLanes(D32());

/// One bit per word, lane 0 lowest.
HWY_INLINE std::uint32_t word_bits(M32 mask) {
#if HWY_TARGET <= HWY_AVX3
    return mask.raw;
#elif HWY_TARGET == HWY_AVX2
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask.raw)));
#else
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(D32(), mask, bits);
    return bits[0];
#endif
}

/// Write the chosen words of `v`, lowest lane first, touching a whole vector. Returns where the
/// next one goes. In a register first: the form that stores is microcoded on Zen 4.
HWY_INLINE std::uint32_t* compress_words(V32 v, M32 mask, std::uint32_t* out) {
    const D32 d;
#if HWY_TARGET == HWY_AVX2
    const std::uint32_t bits = word_bits(mask);
    const __m128i places =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(k_compress_shuffles[bits]));
    const __m256i lanes = _mm256_cvtepu8_epi32(places);
    hn::StoreU(V32{_mm256_permutevar8x32_epi32(v.raw, lanes)}, d, out);
    return out + std::popcount(bits);
#else
    hn::StoreU(hn::Compress(v, mask), d, out);
    return out + hn::CountTrue(d, mask);
#endif
}

/// Where `mask` is set the next words of `in`, elsewhere 0. Reads a whole vector.
HWY_INLINE V32 expand_words(M32 mask, const std::uint32_t* in) {
    const D32 d;
#if HWY_TARGET <= HWY_AVX3
    return V32{_mm512_maskz_expand_epi32(mask.raw, _mm512_loadu_si512(in))};
#elif HWY_TARGET == HWY_AVX2
    const __m128i places =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(k_expand_shuffles[word_bits(mask)]));
    const __m256i lanes = _mm256_cvtepu8_epi32(places);  // of 0x80 the lowest 3 bits count
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
    return hn::IfThenElseZero(mask, V32{_mm256_permutevar8x32_epi32(words, lanes)});
#else
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, mask, bits);
    const hn::Rebind<std::uint8_t, D32> d8;
    const V32 places = hn::PromoteTo(d, hn::LoadU(d8, k_expand_shuffles[bits[0]]));
    const V32 inside = hn::And(places, hn::Set(d, static_cast<std::uint32_t>(k_words - 1)));
    const V32 spread = hn::TableLookupLanes(hn::LoadU(d, in), hn::IndicesFromVec(d, inside));
    return hn::IfThenElseZero(mask, spread);
#endif
}

#if HWY_TARGET <= HWY_AVX2
/// Where a bit is set the next words of `in` and one, elsewhere 0. Reads a whole vector.
HWY_INLINE V32 expand_nonzeros(std::uint32_t bits, const std::uint32_t* in) {
#if HWY_TARGET <= HWY_AVX3
    const auto mask = static_cast<__mmask16>(bits);
    const __m512i words = _mm512_maskz_expand_epi32(mask, _mm512_loadu_si512(in));
    return V32{_mm512_maskz_add_epi32(mask, words, _mm512_set1_epi32(1))};
#else
    const __m256i places = _mm256_cvtepi8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(k_expand_shuffles[bits])));
    const __m256i words = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)), places);
    const __m256i codes = _mm256_sub_epi32(words, _mm256_set1_epi32(-1));
    return V32{_mm256_andnot_si256(_mm256_srai_epi32(places, 31), codes)};
#endif
}
#endif

/// a | (b & mask)
HWY_INLINE V32 or_and(V32 a, V32 b, V32 mask) {
#if HWY_TARGET <= HWY_AVX3
    return V32{_mm512_ternarylogic_epi32(a.raw, b.raw, mask.raw, 0xf8)};
#else
    return hn::Or(a, hn::And(b, mask));
#endif
}

/// The 64-bit words high:low >> bits, lower half; 0 < bits < 32.
template <unsigned k_bits>
HWY_INLINE V32 funnel_right(V32 low, V32 high) {
#if HWY_TARGET <= HWY_AVX3_DL
    return V32{_mm512_shrdi_epi32(low.raw, high.raw, k_bits)};
#else
    return hn::Or(hn::ShiftRight<k_bits>(low), hn::ShiftLeft<32 - k_bits>(high));
#endif
}

#if HWY_TARGET <= HWY_AVX2
/// Four vectors of words, one behind the other, as bytes; words above 255 saturate. None may be
/// 2^31 or more.
HWY_INLINE V8 narrow_four(V32 a, V32 b, V32 c, V32 d) {
#if HWY_TARGET <= HWY_AVX3
    const __m512i ab = _mm512_packs_epi32(a.raw, b.raw), cd = _mm512_packs_epi32(c.raw, d.raw);
    // Blocks of 16 bytes hold 4 of each vector.
    const __m512i places = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    return V8{_mm512_permutexvar_epi32(places, _mm512_packus_epi16(ab, cd))};
#else
    const __m256i ab = _mm256_packs_epi32(a.raw, b.raw), cd = _mm256_packs_epi32(c.raw, d.raw);
    const __m256i places = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    return V8{_mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), places)};
#endif
}
#endif

/// Words below 256 as bytes. Highway 1.0.3's own TruncateTo loses their order on AVX-512.
HWY_INLINE hn::Vec<hn::Rebind<std::uint8_t, D32>> narrow_words(V32 v) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Vec<hn::Rebind<std::uint8_t, D32>>{_mm512_cvtepi32_epi8(v.raw)};
#else
    return hn::TruncateTo(hn::Rebind<std::uint8_t, D32>(), v);
#endif
}

/// Puts values of changing widths one behind the other, each lane into words of its own: word w of
/// 16 lanes lies at out[16 w].
class LanePacker {
  public:
    explicit HWY_INLINE LanePacker(std::uint32_t* out) : out_(out), word_(hn::Zero(D32())) {}
    /// value < 2^bits in every lane, bits <= 32.
    HWY_INLINE void put(V32 value, unsigned bits) {
        word_ = hn::Or(word_, hn::ShiftLeftSame(value, static_cast<int>(used_)));
        used_ += bits;
        if (used_ < 32) return;
        hn::StoreU(word_, D32(), out_);
        out_ += 16;
        used_ -= 32;
        word_ = used_ == 0 ? hn::Zero(D32())
                           : hn::ShiftRightSame(value, static_cast<int>(bits - used_));
    }
    HWY_INLINE void finish() {
        if (used_ != 0) hn::StoreU(word_, D32(), out_);
    }

  private:
    std::uint32_t* out_;
    V32 word_;
    unsigned used_ = 0;  // < 32 between calls
};

/// Inverse of LanePacker; reads only words that were written.
class LaneUnpacker {
  public:
    explicit HWY_INLINE LaneUnpacker(const std::uint32_t* in) : in_(in), word_(hn::Zero(D32())) {}
    /// bits <= 32. Bits above `bits` of the result are for the caller to clear.
    HWY_INLINE V32 take(unsigned bits) {
        if (bits <= left_) {
            const V32 value = hn::ShiftRightSame(word_, static_cast<int>(32 - left_));
            left_ -= bits;
            return value;
        }
        const V32 next = hn::LoadU(D32(), in_);
        in_ += 16;
        V32 value = next;
        if (left_ != 0) {
            value = hn::Or(hn::ShiftRightSame(word_, static_cast<int>(32 - left_)),
                           hn::ShiftLeftSame(next, static_cast<int>(left_)));
        }
        word_ = next;
        left_ += 32 - bits;
        return value;
    }

  private:
    const std::uint32_t* in_;
    V32 word_;
    unsigned left_ = 0;  // unread bits of word_, its highest; < 32 between calls
};

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
