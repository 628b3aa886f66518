// rANS with 16-bit states and byte renormalisation on 128 lanes.
//
// Why bytes: frequencies sum to 256 and there are 16 symbols, so every table is one byte shuffle on
// any instruction set, a decoder's slot is the state's low byte, and a vector of 64 bytes carries
// 64 symbols. States live as two vectors of bytes; only the multiplication needs 16-bit lanes.
//
// Why 128 lanes: a step's operations hang on each other for some 30 cycles, and two vectors of 64
// fill each other's waits.
//
// Limit per 64 symbols on a core that retires two 512-bit operations a cycle: encoding about 36
// operations, 18 cycles, 0.28 cycles/symbol; decoding about 30, 0.23. Zen 4 shuffles, multiplies,
// compares into masks, compresses and expands once a cycle, though, and there are 24 and 22 of
// those: 0.37 and 0.34. Measured: 0.39 and 0.48; the decoder waits for the way from masks over the
// stream's next address to the states, some 45 cycles per 128 symbols.
#include "codec/kernels/rans_kernels.hpp"

#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/rans_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "codec/kernels/simd_bytes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

HWY_INLINE V8 row(const std::array<std::uint8_t, k_symbols>& table) {
    return hn::LoadDup128(D8(), table.data());
}

HWY_INLINE V16 lower16(V8 low, V8 high) {
    return hn::BitCast(D16(), hn::InterleaveLower(D8(), low, high));
}
HWY_INLINE V16 upper16(V8 low, V8 high) {
    return hn::BitCast(D16(), hn::InterleaveUpper(D8(), low, high));
}

/// Bytes as numbers of 16 bits, those at even places and those at odd ones: cheaper to make and to
/// put together again than halves of blocks, which shuffles make, and Zen 4 has few units for them.
struct EvenOdd {
    V16 even, odd;
};
HWY_INLINE V16 words(V8 bytes) { return hn::BitCast(D16(), bytes); }
HWY_INLINE hn::Mask<D8> even_bytes() {
    return hn::MaskFromVec(hn::BitCast(D8(), hn::Set(D16(), 255)));
}
HWY_INLINE EvenOdd split(V8 bytes) {
    return {hn::And(words(bytes), hn::Set(D16(), 255)), hn::ShiftRight<8>(words(bytes))};
}
HWY_INLINE EvenOdd split(V8 low, V8 high) {
    const V8 up = hn::BitCast(D8(), hn::ShiftLeft<8>(words(high)));
    const V8 down = hn::BitCast(D8(), hn::ShiftRight<8>(words(low)));
    return {words(hn::IfThenElse(even_bytes(), low, up)),
            words(hn::IfThenElse(even_bytes(), down, high))};
}
/// Inverse of split(bytes).
HWY_INLINE V8 join(EvenOdd words) {
    return hn::BitCast(D8(), hn::Or(words.even, hn::ShiftLeft<8>(words.odd)));
}

/// Reciprocals of symbols' frequencies, rounded down.
class Reciprocals {
  public:
#if HWY_TARGET <= HWY_AVX3
    explicit HWY_INLINE Reciprocals(const RansTable& table) {
        const auto extend = [](const std::array<std::uint8_t, k_symbols>& bytes) {
            return _mm256_cvtepu8_epi16(
                _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data())));
        };
        table_ = _mm512_castsi256_si512(_mm256_or_si256(
            extend(table.reciprocal_low), _mm256_slli_epi16(extend(table.reciprocal_high), 8)));
    }
    HWY_INLINE EvenOdd of(V8 symbol) const {
        // Of an index the lowest 5 bits count, which are the even symbol.
        return {V16{_mm512_permutexvar_epi16(symbol.raw, table_)},
                V16{_mm512_permutexvar_epi16(_mm512_srli_epi16(symbol.raw, 8), table_)}};
    }

  private:
    __m512i table_;
#else
    explicit HWY_INLINE Reciprocals(const RansTable& table)
        : low_(row(table.reciprocal_low)), high_(row(table.reciprocal_high)) {}
    HWY_INLINE EvenOdd of(V8 symbol) const {
        return split(hn::TableLookupBytes(low_, symbol), hn::TableLookupBytes(high_, symbol));
    }

  private:
    V8 low_, high_;
#endif
};

/// What divide() gives. Never without initial values: GCC cannot inline the constructors of NEON
/// vectors into one that a struct gets by itself.
struct Division {
    V16 quotient, rest;
};
/// x / f and x % f for x < 256 f. The quotient from a reciprocal rounded down may be one too small;
/// the remainder tells.
HWY_INLINE Division divide(V16 x, V16 reciprocal, V16 f) {
    const D16 d;
    const V16 q = hn::MulHigh(x, reciprocal);
    const V16 r = hn::Sub(x, hn::Mul(q, f));
#if HWY_TARGET <= HWY_AVX3
    const __mmask32 again = _mm512_cmpge_epu16_mask(r.raw, f.raw);
    return {V16{_mm512_mask_add_epi16(q.raw, again, q.raw, hn::Set(d, 1).raw)},
            V16{_mm512_mask_sub_epi16(r.raw, again, r.raw, f.raw)}};
#else
    const V16 rest = hn::Min(r, hn::Sub(r, f));  // what is below 0 wraps
    return {hn::Add(hn::Add(q, hn::Set(d, 1)), hn::VecFromMask(d, hn::Eq(r, rest))), rest};
#endif
}

HWY_INLINE hn::Mask<D8> at_least(V8 a, V8 b) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Mask<D8>{_mm512_cmpge_epu8_mask(a.raw, b.raw)};
#else
    return hn::Eq(hn::Max(a, b), a);
#endif
}

std::uint8_t* RansEncode(RansState& state, const RansTable& table, const std::uint8_t* symbols,
                         std::size_t n, std::uint8_t* out) {
    const D8 d;
    constexpr std::size_t k_parts = k_lanes / hn::MaxLanes(D8());
    const V8 frequency = row(table.frequency), start = row(table.start);
    const Reciprocals reciprocals(table);
    constexpr std::size_t N = hn::MaxLanes(D8());
    V8 low[k_parts], high[k_parts];
    for (std::size_t p = 0; p < k_parts; ++p) {
        low[p] = hn::Load(d, state.low.data() + p * N);
        high[p] = hn::Load(d, state.high.data() + p * N);
    }
    for (std::size_t i = n; i > 0; i -= k_lanes) {
        for (std::size_t p = 0; p < k_parts; ++p) {
            const V8 symbol = hn::LoadU(d, symbols + i - k_lanes + p * N);
            const V8 f = hn::TableLookupBytes(frequency, symbol);
            // Renormalise: the new state stays below 65536 if the high byte is below f.
            const auto full = at_least(high[p], f);
            out = compress_bytes(low[p], full, out);
            const EvenOdd x =
                split(hn::IfThenElse(full, high[p], low[p]), hn::IfThenZeroElse(full, high[p]));
            const EvenOdd reciprocal = reciprocals.of(symbol), divisor = split(f);
            // The new state is (x / f) * 256 + x % f + start.
            const Division even = divide(x.even, reciprocal.even, divisor.even);
            const Division odd = divide(x.odd, reciprocal.odd, divisor.odd);
            low[p] = hn::Add(join({even.rest, odd.rest}), hn::TableLookupBytes(start, symbol));
            high[p] = join({even.quotient, odd.quotient});
        }
    }
    for (std::size_t p = 0; p < k_parts; ++p) {
        hn::Store(low[p], d, state.low.data() + p * N);
        hn::Store(high[p], d, state.high.data() + p * N);
    }
    return out;
}

/// Finds the symbol whose range holds each slot: the last one that starts at or below it.
class SymbolFinder {
  public:
#if HWY_TARGET == HWY_AVX3_DL
    HWY_INLINE SymbolFinder(const RansTable&, const RansSlots& slots) {
        for (std::size_t i = 0; i < 4; ++i) rows_[i] = _mm512_load_si512(&slots.symbol[64 * i]);
    }
    HWY_INLINE V8 find(V8 slot) const {
        const __m512i lower = _mm512_permutex2var_epi8(rows_[0], slot.raw, rows_[1]);
        const __m512i upper = _mm512_permutex2var_epi8(rows_[2], slot.raw, rows_[3]);
        return V8{_mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(slot.raw), upper)};
    }

  private:
    __m512i rows_[4];
#else
    HWY_INLINE SymbolFinder(const RansTable& table, const RansSlots&)
        : search_(row(table.search)), half_(hn::Set(D8(), table.search[8])) {}
    HWY_INLINE V8 find(V8 slot) const {
        const D8 d;
        const hn::RebindToSigned<D8> di;
        const auto key = hn::BitCast(di, hn::Xor(slot, hn::Set(d, 0x80)));
        const auto reaches = [&](V8 starts) {
            return hn::RebindMask(d, hn::Gt(key, hn::BitCast(di, starts)));
        };
        V8 symbol = hn::IfThenElseZero(reaches(half_), hn::Set(d, 8));
        for (int bit = 4; bit > 0; bit /= 2) {
            const V8 next = hn::Or(symbol, hn::Set(d, static_cast<std::uint8_t>(bit)));
            symbol = hn::IfThenElse(reaches(hn::TableLookupBytes(search_, next)), next, symbol);
        }
        return symbol;
    }

  private:
    V8 search_, half_;
#endif
};

#if HWY_TARGET <= HWY_AVX3
/// How many states have lost their high byte: known some cycles before they are bytes again.
HWY_INLINE std::size_t below_256(V16 x) {
    return static_cast<std::size_t>(
        std::popcount(_mm512_cmplt_epu16_mask(x.raw, hn::Set(D16(), 256).raw)));
}
#endif

const std::uint8_t* RansDecode(RansState& state, const RansTable& table, const RansSlots& slots,
                               std::uint8_t* symbols, std::size_t n, const std::uint8_t* begin,
                               const std::uint8_t* in) {
    const D8 d;
    constexpr std::size_t N = hn::MaxLanes(D8());
    constexpr std::size_t k_parts = k_lanes / N;
    const V8 zero = hn::Zero(d);
    const V8 frequency = row(table.frequency), start = row(table.start);
    const SymbolFinder finder(table, slots);
    V8 low[k_parts], high[k_parts];
    for (std::size_t p = 0; p < k_parts; ++p) {
        low[p] = hn::Load(d, state.low.data() + p * N);
        high[p] = hn::Load(d, state.high.data() + p * N);
    }
    // A step but for the new bytes; how many states want one.
    const auto decode = [&](V8& lower, V8& upper, V8& symbol) {
        symbol = finder.find(lower);
        const V8 f = hn::TableLookupBytes(frequency, symbol);
        const V8 rest = hn::Sub(lower, hn::TableLookupBytes(start, symbol));
#if HWY_TARGET <= HWY_AVX3
        const EvenOdd fs = split(f), highs = split(upper), rests = split(rest);
        const V16 even = hn::Add(hn::Mul(fs.even, highs.even), rests.even);
        const V16 odd = hn::Add(hn::Mul(fs.odd, highs.odd), rests.odd);
        lower = hn::IfThenElse(even_bytes(), hn::BitCast(d, even),
                               hn::BitCast(d, hn::ShiftLeft<8>(odd)));
        upper = hn::IfThenElse(even_bytes(), hn::BitCast(d, hn::ShiftRight<8>(even)),
                               hn::BitCast(d, odd));
        return below_256(even) + below_256(odd);
#else
        const V16 mask = hn::Set(D16(), 255);
        const V16 a = hn::Add(hn::Mul(lower16(f, zero), lower16(upper, zero)), lower16(rest, zero));
        const V16 b = hn::Add(hn::Mul(upper16(f, zero), upper16(upper, zero)), upper16(rest, zero));
        lower = pack_bytes(hn::And(a, mask), hn::And(b, mask));
        upper = pack_bytes(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b));
        return hn::CountTrue(d, hn::Eq(upper, zero));
#endif
    };
    for (std::size_t i = 0; i < n; i += k_lanes) {
        std::size_t wanted = 0;
        std::size_t empty[k_parts];
        for (std::size_t p = 0; p < k_parts; ++p) {
            V8 symbol;
            empty[p] = decode(low[p], high[p], symbol);
            hn::StoreU(symbol, d, symbols + i + p * N);
            wanted += empty[p];
        }
        if (HWY_UNLIKELY(wanted > static_cast<std::size_t>(in - begin))) return nullptr;
        in -= wanted;
        const std::uint8_t* next = in;
        for (std::size_t p = 0; p < k_parts; ++p) {
            const auto refill = hn::Eq(high[p], zero);
            high[p] = hn::IfThenElse(refill, low[p], high[p]);
            low[p] = expand_bytes(low[p], refill, next);
            next += empty[p];
        }
    }
    for (std::size_t p = 0; p < k_parts; ++p) {
        hn::Store(low[p], d, state.low.data() + p * N);
        hn::Store(high[p], d, state.high.data() + p * N);
    }
    return in;
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(RansEncode);
HWY_EXPORT(RansDecode);

std::uint8_t* rans_encode(RansState& state, const RansTable& table, const std::uint8_t* symbols,
                          std::size_t n, std::uint8_t* out) {
    return HWY_DYNAMIC_DISPATCH(RansEncode)(state, table, symbols, n, out);
}
const std::uint8_t* rans_decode(RansState& state, const RansTable& table, const RansSlots& slots,
                                std::uint8_t* symbols, std::size_t n, const std::uint8_t* begin,
                                const std::uint8_t* in) {
    return HWY_DYNAMIC_DISPATCH(RansDecode)(state, table, slots, symbols, n, begin, in);
}
}  // namespace caesura::codec
#endif
