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

#include "codec/lane_shuffles.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<std::uint32_t, 16>;
using V32 = hn::Vec<D32>;
using M32 = hn::Mask<D32>;
inline constexpr std::size_t k_words = hn::MaxLanes(D32());

/// Write the chosen words of `v`, lowest lane first, touching a whole vector. Returns where the
/// next one goes. In a register first: the form that stores is microcoded on Zen 4.
HWY_INLINE std::uint32_t* compress_words(V32 v, M32 mask, std::uint32_t* out) {
    const D32 d;
    hn::StoreU(hn::Compress(v, mask), d, out);
    return out + hn::CountTrue(d, mask);
}

/// Where `mask` is set the next words of `in`, elsewhere 0. Reads a whole vector.
HWY_INLINE V32 expand_words(M32 mask, const std::uint32_t* in) {
    const D32 d;
#if HWY_TARGET <= HWY_AVX3
    return V32{_mm512_maskz_expand_epi32(mask.raw, _mm512_loadu_si512(in))};
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
