// rANS with 16-bit states and byte renormalisation on 128 lanes.
//
// Why bytes: frequencies sum to 256 and there are 16 symbols, so every table is one byte shuffle on
// any instruction set, a decoder's slot is the state's low byte, and a vector of 64 bytes carries
// 64 symbols. States live as two vectors of bytes; only the multiplication needs 16-bit lanes.
//
// Why 128 lanes: a step's operations hang on each other for some 30 cycles, and two vectors of 64
// fill each other's waits.
//
// Limit per 64 symbols on a core that retires two 512-bit operations a cycle: encoding about 42
// operations, 21 cycles, 0.33 cycles/symbol; decoding about 30, 0.23. Measured on Zen 4 (some
// operations go faster than two a cycle): 0.27 and 0.29; the decoder waits for the way from masks
// over the stream's next address to the states, 40 cycles per 128 symbols.
#include "codec/rans_kernels.hpp"

#include "codec/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/rans_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "codec/simd_bytes-inl.hpp"

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

/// (x / f) * 256 + x % f + start, for x < 256 f. The quotient from a reciprocal rounded down may be
/// one too small; the remainder tells.
HWY_INLINE V16 push(V16 x, V16 reciprocal, V16 complement, V16 start) {
    const D16 d;
    const hn::RebindToSigned<D16> di;
    const V16 quotient = hn::MulHigh(x, reciprocal);
    const V16 sum = hn::Add(x, hn::Mul(quotient, complement));  // x + q (256 - f)
    const V16 rest = hn::Sub(sum, hn::ShiftLeft<8>(quotient));  // x - q f, below 2 f
    const V16 last = hn::Sub(hn::Set(d, 255), complement);      // f - 1
    const auto again = hn::Gt(hn::BitCast(di, rest), hn::BitCast(di, last));
    const V16 more = hn::BitCast(d, hn::IfThenElseZero(again, hn::BitCast(di, complement)));
    return hn::Add(hn::Add(sum, start), more);
}

std::uint8_t* RansEncode(RansState& state, const RansTable& table, const std::uint8_t* symbols,
                         std::size_t n, std::uint8_t* out) {
    const D8 d;
    constexpr std::size_t k_parts = k_lanes / hn::MaxLanes(D8());
    const V8 zero = hn::Zero(d);
    const V8 frequency = row(table.frequency), start = row(table.start);
    const V8 reciprocal_low = row(table.reciprocal_low),
             reciprocal_high = row(table.reciprocal_high);
    const V16 mask = hn::Set(D16(), 255);
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
            const auto full = hn::Eq(hn::Max(high[p], f), high[p]);
            out = compress_bytes(low[p], full, out);
            low[p] = hn::IfThenElse(full, high[p], low[p]);
            high[p] = hn::IfThenZeroElse(full, high[p]);
            const V8 complement = hn::Sub(zero, f);  // 256 - f
            const V8 s = hn::TableLookupBytes(start, symbol);
            const V8 r0 = hn::TableLookupBytes(reciprocal_low, symbol);
            const V8 r1 = hn::TableLookupBytes(reciprocal_high, symbol);
            const V16 a = push(lower16(low[p], high[p]), lower16(r0, r1), lower16(complement, zero),
                               lower16(s, zero));
            const V16 b = push(upper16(low[p], high[p]), upper16(r0, r1), upper16(complement, zero),
                               upper16(s, zero));
            low[p] = pack_bytes(hn::And(a, mask), hn::And(b, mask));
            high[p] = pack_bytes(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b));
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

const std::uint8_t* RansDecode(RansState& state, const RansTable& table, const RansSlots& slots,
                               std::uint8_t* symbols, std::size_t n, const std::uint8_t* begin,
                               const std::uint8_t* in) {
    const D8 d;
    constexpr std::size_t N = hn::MaxLanes(D8());
    constexpr std::size_t k_parts = k_lanes / N;
    const V8 zero = hn::Zero(d);
    const V8 frequency = row(table.frequency), start = row(table.start);
    const SymbolFinder finder(table, slots);
    const V16 mask = hn::Set(D16(), 255);
    V8 low[k_parts], high[k_parts];
    for (std::size_t p = 0; p < k_parts; ++p) {
        low[p] = hn::Load(d, state.low.data() + p * N);
        high[p] = hn::Load(d, state.high.data() + p * N);
    }
    for (std::size_t i = 0; i < n; i += k_lanes) {
        std::size_t wanted = 0;
        for (std::size_t p = 0; p < k_parts; ++p) {
            const V8 symbol = finder.find(low[p]);
            hn::StoreU(symbol, d, symbols + i + p * N);
            const V8 f = hn::TableLookupBytes(frequency, symbol);
            const V8 rest = hn::Sub(low[p], hn::TableLookupBytes(start, symbol));
            const V16 a =
                hn::Add(hn::Mul(lower16(f, zero), lower16(high[p], zero)), lower16(rest, zero));
            const V16 b =
                hn::Add(hn::Mul(upper16(f, zero), upper16(high[p], zero)), upper16(rest, zero));
            low[p] = pack_bytes(hn::And(a, mask), hn::And(b, mask));
            high[p] = pack_bytes(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b));
            wanted += hn::CountTrue(d, hn::Eq(high[p], zero));
        }
        if (HWY_UNLIKELY(wanted > static_cast<std::size_t>(in - begin))) return nullptr;
        in -= wanted;
        const std::uint8_t* next = in;
        for (std::size_t p = 0; p < k_parts; ++p) {
            const auto empty = hn::Eq(high[p], zero);
            high[p] = hn::IfThenElse(empty, low[p], high[p]);
            low[p] = expand_bytes(low[p], empty, next);
            if (k_parts > 1) next += hn::CountTrue(d, empty);
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
