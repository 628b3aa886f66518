// A dense chunk's codes to symbols and raw low bits, and back: the bulk of what a chunk passes
// through beside rANS itself.
//
// Low bits lie as LanePacker says: 16 lanes, each a string of bits. For few bits, which are nearly
// all there are, the pattern in which rows of 16 codes fill words is unrolled, so that nothing
// branches: rows are packed from the last to the first, each word shifted up to let the next row
// in. What the symbols do not hold (escapes) is rare and ragged: masks of 64 codes say where, and
// plain code fetches it afterwards, some of each mask whether there are so many or not.
//
// Limit per 16 codes: splitting takes 4.6 operations (shift, 2 for the low bits, 1.6 for symbols
// and masks) and joining 3, with a store of 64 bytes: at two 512-bit operations a cycle and half
// such a store, 0.145 and 0.125 cycles per code. Measured on Zen 4 in L1: 0.21 to 0.23 and 0.18 to
// 0.20 (shuffles of 512 bits go once a cycle); escapes add 0.1, to either.
#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/split_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "codec/kernels/rans_kernels.hpp"
#include "codec/kernels/simd_words-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

inline constexpr std::size_t k_group = 64;  // codes of one word of Escapes
inline constexpr std::size_t k_row = 16;
inline constexpr unsigned k_row_vectors = k_row / k_words;

HWY_INLINE V32 low_mask(unsigned bits) {
    return hn::Set(D32(), static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1));
}

// ---- any number of low bits, any instruction set ----------------------------------------------

void split_any(const std::uint32_t* codes, std::size_t n, unsigned low_bits, unsigned alphabet,
               std::uint8_t* symbols, std::uint8_t* low, std::uint64_t* escapes) {
    const D32 d;
    const D8 d8;
    const V32 last = hn::Set(d, alphabet - 1);
    const V8 last8 = hn::Set(d8, static_cast<std::uint8_t>(alphabet - 1));
    const int k = static_cast<int>(low_bits);
    for (std::size_t i = 0; i < n; i += k_group) {
        std::uint64_t mask = 0;
        for (std::size_t j = 0; j < k_group; j += k_words) {
            const V32 high = hn::ShiftRightSame(hn::Load(d, codes + i + j), k);
            hn::StoreU(narrow_words(hn::Min(high, last)), hn::Rebind<std::uint8_t, D32>(),
                       symbols + i + j);
        }
        for (std::size_t j = 0; j < k_group; j += hn::MaxLanes(d8)) {
            mask |= mask_bits(hn::Eq(hn::LoadU(d8, symbols + i + j), last8)) << j;
        }
        escapes[i / k_group] = mask;
    }
    if (low_bits == 0) return;
    for (std::size_t lane = 0; lane < k_row; lane += k_words) {
        LanePacker packer(reinterpret_cast<std::uint32_t*>(low) + lane);
        for (std::size_t i = lane; i < n; i += k_row) {
            packer.put(hn::And(hn::Load(d, codes + i), low_mask(low_bits)), low_bits);
        }
        packer.finish();
    }
}

void join_any(const std::uint8_t* symbols, std::size_t n, unsigned low_bits,
              const std::uint8_t* low, std::uint32_t* codes) {
    const D32 d;
    for (std::size_t i = 0; i < n; i += k_words) {
        hn::Store(hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D32>(), symbols + i)), d,
                  codes + i);
    }
    if (low_bits == 0) return;
    const int k = static_cast<int>(low_bits);
    for (std::size_t lane = 0; lane < k_row; lane += k_words) {
        LaneUnpacker unpacker(reinterpret_cast<const std::uint32_t*>(low) + lane);
        for (std::size_t i = lane; i < n; i += k_row) {
            const V32 high = hn::ShiftLeftSame(hn::Load(d, codes + i), k);
            hn::Store(or_and(high, unpacker.take(low_bits), low_mask(low_bits)), d, codes + i);
        }
    }
}

// ---- few low bits, unrolled -------------------------------------------------------------------

#if HWY_TARGET <= HWY_AVX2
inline constexpr unsigned k_unrolled_bits = 12;

/// Rows after which low bits of k each end with a word, at least a group's.
constexpr std::size_t period_rows(unsigned k) {
    return k == 0 ? 4 : std::max(4U, 32 / std::gcd(k, 32U));
}

/// Let the vector's low k bits into the words; rows come last first. Returns its symbols' codes.
template <unsigned k, unsigned index>
HWY_INLINE V32 split_vector(const std::uint32_t* codes, V32* words, V32 mask, std::uint32_t* low) {
    const D32 d;
    const V32 code = hn::Load(d, codes + index * k_words);
    if constexpr (k == 0) return code;
    constexpr unsigned row = index / k_row_vectors, part = index % k_row_vectors;
    constexpr unsigned begin = row * k % 32, end = begin + k;
    std::uint32_t* const out = low + row * k / 32 * k_row + part * k_words;
    V32& word = words[part];
    if constexpr (end < 32) {
        word = or_and(hn::ShiftLeft<k>(word), code, mask);
    } else {
        if constexpr (end > 32) {
            constexpr unsigned over = end - 32;
            word =
                or_and(hn::ShiftLeft<over>(word), hn::ShiftRight<k - over>(code), low_mask(over));
            hn::StoreU(word, d, out + k_row);
        }
        word = code;  // what is above its low bits will be shifted out
    }
    if constexpr (begin == 0) hn::StoreU(word, d, out);
    return hn::ShiftRight<k>(code);
}

template <unsigned k, unsigned unit>
HWY_INLINE std::uint64_t split_unit(const std::uint32_t* codes, V8 last, V32* words, V32 mask,
                                    std::uint8_t* symbols, std::uint32_t* low) {
    V32 v3 = split_vector<k, 4 * unit + 3>(codes, words, mask, low);
    V32 v2 = split_vector<k, 4 * unit + 2>(codes, words, mask, low);
    V32 v1 = split_vector<k, 4 * unit + 1>(codes, words, mask, low);
    V32 v0 = split_vector<k, 4 * unit + 0>(codes, words, mask, low);
    if constexpr (k == 0) {
        const V32 most = hn::Set(D32(), 255);
        v0 = hn::Min(v0, most);
        v1 = hn::Min(v1, most);
        v2 = hn::Min(v2, most);
        v3 = hn::Min(v3, most);
    }
    const V8 symbol = hn::Min(narrow_four(v0, v1, v2, v3), last);
    hn::StoreU(symbol, D8(), symbols + unit * hn::MaxLanes(D8()));
    return mask_bits(hn::Eq(symbol, last));
}

/// Split whole periods of n codes; returns how many codes that were.
template <unsigned k>
std::size_t split_periods(const std::uint32_t* codes, std::size_t n, unsigned alphabet,
                          std::uint8_t* symbols, std::uint8_t* low, std::uint64_t* escapes) {
    constexpr std::size_t k_period = period_rows(k) * k_row;
    constexpr std::size_t k_unit = hn::MaxLanes(D8());
    const V8 last = hn::Set(D8(), static_cast<std::uint8_t>(alphabet - 1));
    const V32 mask = low_mask(k);
    std::size_t i = 0;
    for (; i + k_period <= n; i += k_period) {
        std::uint32_t* const out = reinterpret_cast<std::uint32_t*>(low) + i * k / 32;
        std::uint64_t masks[k_period / k_group] = {};
        V32 words[k_row_vectors];
        for (V32& word : words) word = hn::Zero(D32());
        [&]<std::size_t... unit>(std::index_sequence<unit...>) {
            constexpr std::size_t k_last = sizeof...(unit) - 1;
            ((masks[(k_last - unit) * k_unit / k_group] |=
              split_unit<k, k_last - unit>(codes + i, last, words, mask, symbols + i, out)
              << ((k_last - unit) * k_unit % k_group)),
             ...);
        }
        (std::make_index_sequence<k_period / k_unit>());
        std::memcpy(escapes + i / k_group, masks, sizeof masks);
    }
    return i;
}

/// Inverse of split_vector; rows come first first.
template <unsigned k, unsigned index>
HWY_INLINE void join_vector(const std::uint8_t* symbols, V32* words, const std::uint32_t* low,
                            std::uint32_t* codes) {
    const D32 d;
    V32 code =
        hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D32>(), symbols + index * k_words));
    if constexpr (k != 0) {
        constexpr unsigned row = index / k_row_vectors, part = index % k_row_vectors;
        constexpr unsigned begin = row * k % 32, end = begin + k;
        const std::uint32_t* const in = low + row * k / 32 * k_row + part * k_words;
        V32& word = words[part];
        if constexpr (begin == 0) word = hn::LoadU(d, in);
        V32 bits;  // the low bits at the top
        if constexpr (end < 32) {
            bits = hn::ShiftLeft<32 - end>(word);
        } else if constexpr (end == 32) {
            bits = word;
        } else {
            const V32 next = hn::LoadU(d, in + k_row);
            bits = funnel_right<end - 32>(word, next);
            word = next;
        }
        code = funnel_right<32 - k>(bits, code);
    }
    hn::Store(code, d, codes + index * k_words);
}

template <unsigned k>
std::size_t join_periods(const std::uint8_t* symbols, std::size_t n, const std::uint8_t* low,
                         std::uint32_t* codes) {
    constexpr std::size_t k_period = period_rows(k) * k_row;
    std::size_t i = 0;
    for (; i + k_period <= n; i += k_period) {
        const auto* in = reinterpret_cast<const std::uint32_t*>(low) + i * k / 32;
        V32 words[k_row_vectors];
        for (V32& word : words) word = hn::Zero(D32());
        [&]<std::size_t... index>(std::index_sequence<index...>) {
            (join_vector<k, index>(symbols + i, words, in, codes + i), ...);
        }
        (std::make_index_sequence<k_period / k_words>());
    }
    return i;
}

using SplitPeriods = std::size_t (*)(const std::uint32_t*, std::size_t, unsigned, std::uint8_t*,
                                     std::uint8_t*, std::uint64_t*);
using JoinPeriods = std::size_t (*)(const std::uint8_t*, std::size_t, const std::uint8_t*,
                                    std::uint32_t*);
template <std::size_t... k>
constexpr std::array<SplitPeriods, sizeof...(k)> all_splits(std::index_sequence<k...>) {
    return {split_periods<k>...};
}
template <std::size_t... k>
constexpr std::array<JoinPeriods, sizeof...(k)> all_joins(std::index_sequence<k...>) {
    return {join_periods<k>...};
}
inline constexpr auto k_splits = all_splits(std::make_index_sequence<k_unrolled_bits + 1>());
inline constexpr auto k_joins = all_joins(std::make_index_sequence<k_unrolled_bits + 1>());
#endif

// ---- chunks -----------------------------------------------------------------------------------

std::size_t SplitChunk(const std::uint32_t* codes, std::size_t n, unsigned low_bits,
                       unsigned alphabet, std::uint8_t* symbols, std::uint8_t* low,
                       Escapes& escapes) {
    std::size_t done = 0;
#if HWY_TARGET <= HWY_AVX2
    if (low_bits <= k_unrolled_bits) {
        done = k_splits[low_bits](codes, n, alphabet, symbols, low, escapes.data());
    }
#endif
    if (done < n) {
        split_any(codes + done, n - done, low_bits, alphabet, symbols + done,
                  low + done * low_bits / 8, escapes.data() + done / k_group);
    }
    std::size_t count = 0;
    for (std::size_t g = 0; g < n / k_group; ++g) {
        count += static_cast<std::size_t>(std::popcount(escapes[g]));
    }
    return count;
}

/// Call `each(code, i)` for escape i at codes[code], k_least times per group at least: those that
/// are not there have the place of the group's first code and `there` false.
template <std::size_t k_least, class Each>
HWY_INLINE void for_escapes_by(const Escapes& escapes, std::size_t n, Each each) {
    std::size_t first = 0;
    for (std::size_t g = 0; g < n / k_group; ++g) {
        std::uint64_t mask = escapes[g];
        const auto count = static_cast<std::size_t>(std::popcount(mask));
        const auto next = [&](std::size_t i) {
            const auto place = static_cast<std::size_t>(std::countr_zero(mask)) % k_group;
            each(g * k_group + place, first + i, mask != 0);
            mask &= mask - 1;
        };
        for (std::size_t i = 0; i < k_least; ++i) next(i);
        if (HWY_UNLIKELY(count > k_least)) {
            for (std::size_t i = k_least; i < count; ++i) next(i);
        }
        first += count;
    }
}
template <class Each>
HWY_INLINE void for_escapes(const Escapes& escapes, std::size_t n, std::size_t count, Each each) {
    if (count * 4 * k_group <= n * 3) {
        for_escapes_by<2>(escapes, n, each);
    } else {
        for_escapes_by<4>(escapes, n, each);
    }
}

#if HWY_TARGET == HWY_AVX3_DL
/// The places of all escapes, with room for k_group more.
HWY_INLINE void list_escapes(const Escapes& escapes, std::size_t n, std::uint16_t* places) {
    constexpr std::size_t k_most = 16;  // of a group without a branch
    alignas(64) static constexpr std::array<std::uint8_t, 64> k_numbers = [] {
        std::array<std::uint8_t, 64> numbers{};
        for (std::size_t i = 0; i < 64; ++i) numbers[i] = static_cast<std::uint8_t>(i);
        return numbers;
    }();
    const __m512i numbers = _mm512_load_si512(k_numbers.data());
    std::size_t found = 0;
    for (std::size_t g = 0; g < n / k_group; ++g) {
        const std::uint64_t mask = escapes[g];
        const __m512i bytes = _mm512_maskz_compress_epi8(mask, numbers);
        const __m256i base = _mm256_set1_epi16(static_cast<std::int16_t>(g * k_group));
        const auto put = [&](__m128i some, std::size_t at) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + found + at),
                                _mm256_add_epi16(_mm256_cvtepu8_epi16(some), base));
        };
        put(_mm512_castsi512_si128(bytes), 0);
        const auto in_group = static_cast<std::size_t>(std::popcount(mask));
        if (HWY_UNLIKELY(in_group > k_most)) {
            put(_mm512_extracti32x4_epi32(bytes, 1), k_most);
            put(_mm512_extracti32x4_epi32(bytes, 2), 2 * k_most);
            put(_mm512_extracti32x4_epi32(bytes, 3), 3 * k_most);
        }
        found += in_group;
    }
}
#endif

void TakeTails(const std::uint32_t* codes, std::size_t n, unsigned low_bits, unsigned alphabet,
               const Escapes& escapes, std::size_t count, std::uint32_t* tail) {
    const auto take = [&](std::size_t code, std::size_t i, bool) {
        tail[i] = (codes[code] >> low_bits) - (alphabet - 1);
    };
#if HWY_TARGET == HWY_AVX3_DL
    std::uint16_t places[k_chunk_values + k_group];
    list_escapes(escapes, n, places);
    for (std::size_t i = 0; i < count; ++i) take(places[i], i, true);
#else
    for_escapes(escapes, n, count, take);
#endif
}

std::size_t JoinChunk(const std::uint8_t* symbols, std::size_t n, unsigned low_bits,
                      unsigned alphabet, const std::uint8_t* low, const std::uint32_t* tail,
                      std::size_t n_tail, std::uint32_t* codes) {
    const D8 d8;
    Escapes escapes;
    std::size_t count = 0;
    const V8 last = hn::Set(d8, static_cast<std::uint8_t>(alphabet - 1));
    for (std::size_t i = 0; i < n; i += k_group) {
        std::uint64_t mask = 0;
        for (std::size_t j = 0; j < k_group; j += hn::MaxLanes(d8)) {
            mask |= mask_bits(hn::Eq(hn::LoadU(d8, symbols + i + j), last)) << j;
        }
        escapes[i / k_group] = mask;
        count += static_cast<std::size_t>(std::popcount(mask));
    }
    std::size_t done = 0;
#if HWY_TARGET <= HWY_AVX2
    if (low_bits <= k_unrolled_bits) done = k_joins[low_bits](symbols, n, low, codes);
#endif
    if (done < n) {
        join_any(symbols + done, n - done, low_bits, low + done * low_bits / 8, codes + done);
    }
    if (count == 0 || count > n_tail) return count;
    for_escapes(escapes, n, count, [&](std::size_t code, std::size_t i, bool there) {
        codes[code] += there ? tail[i] << low_bits : 0;
    });
    return count;
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(SplitChunk);
HWY_EXPORT(TakeTails);
HWY_EXPORT(JoinChunk);

std::size_t split_chunk(const std::uint32_t* codes, std::size_t n, unsigned low_bits,
                        unsigned alphabet, std::uint8_t* symbols, std::uint8_t* low,
                        Escapes& escapes) {
    return HWY_DYNAMIC_DISPATCH(SplitChunk)(codes, n, low_bits, alphabet, symbols, low, escapes);
}
void take_tails(const std::uint32_t* codes, std::size_t n, unsigned low_bits, unsigned alphabet,
                const Escapes& escapes, std::size_t count, std::uint32_t* tail) {
    HWY_DYNAMIC_DISPATCH(TakeTails)(codes, n, low_bits, alphabet, escapes, count, tail);
}
std::size_t join_chunk(const std::uint8_t* symbols, std::size_t n, unsigned low_bits,
                       unsigned alphabet, const std::uint8_t* low, const std::uint32_t* tail,
                       std::size_t n_tail, std::uint32_t* codes) {
    return HWY_DYNAMIC_DISPATCH(JoinChunk)(symbols, n, low_bits, alphabet, low, tail, n_tail,
                                           codes);
}
}  // namespace caesura::codec
#endif
