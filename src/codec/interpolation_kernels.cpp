// The interpolation predictor's row loops, once per instruction set.
//
// Invariants:
//  - Codes and reconstructions do not depend on the vector length: every value has its own
//    prediction, and rows follow each other in order.
//  - Encoder and decoder form prediction, reconstruction and residual by the same operations.
//  - What is stored exactly goes through plain code (rare), the same for every target.
//
// Limit: a vector of a cubic encoding pass with feedback takes 22 operations (5 prediction, 2 + 1
// feedback, 6 quantising, 3 bound, 2 marks, 3 zigzag), 6 loads and 3 stores. Zen 4 issues 4 vector
// operations of 256 bits per cycle, so 512-bit vectors take 11 cycles: 0.69 cycles per float32
// value or 15 GB/s at 2.55 GHz. Decoding takes 17 operations: 0.53 cycles. Measured on 128^3 fields
// from memory, on a busy machine: 1.7 to 2.3 cycles encoding and 1.7 to 2.1 decoding, a third to a
// half of it waiting for the block's own memory traffic, which AVX2 (at 90 % of the speed) shares.
#include "codec/interpolation_kernels.hpp"

#include <cstring>

#include "codec/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/interpolation_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "codec/simd_lattice-inl.hpp"

#ifndef CAESURA_INTERPOLATION_ONCE
#define CAESURA_INTERPOLATION_ONCE
namespace caesura::codec {

inline constexpr std::size_t k_most_lanes = 16;

/// A vector whose lanes must be looked at one by one.
template <class T>
struct InterpolationLanes {
    T values[k_most_lanes] = {};
    T predictions[k_most_lanes] = {};
    T reconstructions[k_most_lanes] = {};
    T residuals[k_most_lanes] = {};
    std::uint32_t codes[k_most_lanes] = {};
};

/// Encoder: store exactly the lanes that fail.
template <class T>
void store_lanes(InterpolationLanes<T>& lanes, std::size_t n, const InterpolationPass<T>& pass,
                 ExactValues<T>& exact) {
    for (std::size_t i = 0; i < n; ++i) {
        const T v = lanes.values[i];
        const T p = lanes.predictions[i];
        const bool held = std::abs(v - lanes.reconstructions[i]) < pass.bound;
        if (held && lanes.codes[i] != k_exact_code && !is_tiny(v)) continue;
        exact.values.push_back(v);
        lanes.codes[i] = k_exact_code;
        lanes.reconstructions[i] = stand_in(v, p, pass.inverse);
        lanes.residuals[i] = 0;
    }
}

/// Decoder: fetch the lanes that were stored exactly.
template <class T>
void fetch_lanes(InterpolationLanes<T>& lanes, std::size_t n, const InterpolationPass<T>& pass,
                 std::uint64_t position, ExactFeed<T>& exact) {
    for (std::size_t i = 0; i < n; ++i) {
        if (lanes.codes[i] != k_exact_code) continue;
        const T v = exact.next(position + i * pass.position_stride);
        lanes.reconstructions[i] = stand_in(v, lanes.predictions[i], pass.inverse);
        lanes.residuals[i] = 0;
    }
}

}  // namespace caesura::codec
#endif

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

/// What a pass needs in registers: the loops store to memory that, for all the compiler knows,
/// holds the originals of these.
template <class T>
struct Constants {
    using V = typename Lanes<T>::V;
    explicit Constants(const InterpolationPass<T>& pass)
        : step(hn::Set(D(), pass.step)),
          inverse(hn::Set(D(), pass.inverse)),
          bound(hn::Set(D(), pass.bound)),
          weight(hn::Set(D(), pass.weight)) {}
    using D = typename Lanes<T>::D;
    V step;
    V inverse;
    V bound;
    V weight;
};

/// A vector after its codes are made or read. Only the rare paths hand it on as a whole: GCC 12
/// keeps such a structure in memory.
template <class T>
struct Settled {
    typename Lanes<T>::V reconstruction;
    typename Lanes<T>::V residual;  ///< reconstruction - prediction without feedback
    typename Lanes<T>::VI code;
};

template <class T>
HWY_INLINE void spill(const Settled<T>& s, InterpolationLanes<T>& lanes) {
    const typename Lanes<T>::D d;
    hn::StoreU(s.reconstruction, d, lanes.reconstructions);
    hn::StoreU(s.residual, d, lanes.residuals);
    hn::StoreU(s.code, typename Lanes<T>::DI(), reinterpret_cast<std::int32_t*>(lanes.codes));
}

template <class T>
HWY_INLINE Settled<T> fill(const InterpolationLanes<T>& lanes) {
    const typename Lanes<T>::D d;
    return {hn::LoadU(d, lanes.reconstructions), hn::LoadU(d, lanes.residuals),
            hn::LoadU(typename Lanes<T>::DI(), reinterpret_cast<const std::int32_t*>(lanes.codes))};
}

/// Turns predictions into reconstructions: by codes that it makes ...
template <class T>
struct EncodeStep {
    static constexpr bool k_encodes = true;
    using L = Lanes<T>;
    using V = typename L::V;
    using M = typename L::M;
    using Codes = std::int32_t*;
    using Stream = CodeWriter;
    using Exact = ExactValues<T>;

    static HWY_INLINE Codes open(CodeWriter& writer, std::size_t) {
        return reinterpret_cast<std::int32_t*>(writer.room());
    }
    static HWY_INLINE void close(CodeWriter& writer, std::size_t n) { writer.advance(n); }

    /// @param n  lanes that count; `all`: every lane does. @param base  the prediction without
    /// feedback.
    static HWY_INLINE void settle(const Constants<T>& c, V v, V p, V base, std::size_t n, bool all,
                                  Codes codes, std::uint64_t, const InterpolationPass<T>& pass,
                                  Exact& exact, V& reconstruction, V& residual) {
        const typename L::D d;
        const typename L::DBits db;
        const auto r = to_lattice(hn::Mul(hn::Sub(v, p), c.inverse));
        const V rounded = to_values(r);
        reconstruction = hn::Add(p, hn::Mul(rounded, c.step));
        residual = hn::Sub(reconstruction, base);
        auto code = zigzag(r);
        // -2^31 would be taken for the mark of an exact value.
        const M held = hn::And(hn::Lt(hn::Abs(hn::Sub(v, reconstruction)), c.bound),
                               hn::Ne(rounded, hn::Set(d, static_cast<T>(-2147483648.0))));
        const M zero_exponent = hn::RebindMask(
            d, hn::Eq(hn::And(hn::BitCast(db, v), hn::Set(db, k_exponent)), hn::Zero(db)));
        M usual = hn::AndNot(zero_exponent, held);
        if (!all) usual = hn::Or(usual, hn::Not(hn::FirstN(d, n)));
        if (HWY_UNLIKELY(!hn::AllTrue(d, usual))) {
            const M nonzero = hn::RebindMask(d, hn::Ne(hn::BitCast(db, v), hn::Zero(db)));
            M failed = hn::Or(hn::Not(held), hn::And(zero_exponent, nonzero));
            if (!all) failed = hn::And(failed, hn::FirstN(d, n));
            if (HWY_UNLIKELY(!hn::AllFalse(d, failed))) {
                const Settled<T> stored =
                    store(v, p, Settled<T>{reconstruction, residual, code}, n, pass, exact);
                reconstruction = stored.reconstruction;
                residual = stored.residual;
                code = stored.code;
            }
        }
        hn::StoreU(code, typename L::DI(), codes);
    }

  private:
    using Bits = hn::TFromD<typename L::DBits>;
    static constexpr Bits k_mantissa = (Bits{1} << (std::numeric_limits<T>::digits - 1)) - 1;
    static constexpr Bits k_exponent = std::numeric_limits<Bits>::max() - k_mantissa;

    static HWY_NOINLINE Settled<T> store(V v, V p, Settled<T> s, std::size_t n,
                                         const InterpolationPass<T>& pass, Exact& exact) {
        const typename L::D d;
        InterpolationLanes<T> lanes;
        hn::StoreU(v, d, lanes.values);
        hn::StoreU(p, d, lanes.predictions);
        spill(s, lanes);
        store_lanes(lanes, n, pass, exact);
        return fill(lanes);
    }
};

/// ... or by codes that it is given.
template <class T>
struct DecodeStep {
    static constexpr bool k_encodes = false;
    using L = Lanes<T>;
    using V = typename L::V;
    using Codes = const std::int32_t*;
    using Stream = CodeReader;
    using Exact = ExactFeed<T>;

    static HWY_INLINE Codes open(CodeReader& reader, std::size_t n) {
        return reinterpret_cast<const std::int32_t*>(reader.take(n));
    }
    static HWY_INLINE void close(CodeReader&, std::size_t) {}

    static HWY_INLINE void settle(const Constants<T>& c, V, V p, V base, std::size_t n, bool all,
                                  Codes codes, std::uint64_t position,
                                  const InterpolationPass<T>& pass, Exact& exact, V& reconstruction,
                                  V& residual) {
        const typename L::DI di;
        const auto code = hn::LoadU(di, codes);
        reconstruction = hn::Add(p, hn::Mul(to_values(unzigzag(code)), c.step));
        residual = hn::Sub(reconstruction, base);
        auto marked = hn::Eq(code, hn::Set(di, -1));
        if (!all) marked = hn::And(marked, hn::FirstN(di, n));
        if (HWY_LIKELY(hn::AllFalse(di, marked))) return;
        const Settled<T> fetched =
            fetch(p, Settled<T>{reconstruction, residual, code}, n, position, pass, exact);
        reconstruction = fetched.reconstruction;
        residual = fetched.residual;
    }

  private:
    static HWY_NOINLINE Settled<T> fetch(V p, Settled<T> s, std::size_t n, std::uint64_t position,
                                         const InterpolationPass<T>& pass, Exact& exact) {
        const typename L::D d;
        InterpolationLanes<T> lanes;
        hn::StoreU(p, d, lanes.predictions);
        spill(s, lanes);
        fetch_lanes(lanes, n, pass, position, exact);
        return fill(lanes);
    }
};

// ------------------------------------------------------------------------ parts of vectors

/// The first n values; the rest is 0. Reads nothing past them.
template <class T>
HWY_INLINE typename Lanes<T>::V load_part(const T* from, std::size_t n) {
    const typename Lanes<T>::D d;
    HWY_ALIGN T part[64 / sizeof(T)] = {};
    for (std::size_t i = 0; i < n; ++i) part[i] = from[i];
    return hn::Load(d, part);
}

/// Ask memory for what lies `ahead` values on, be it inside the array or not.
template <bool k_to_write, class T>
HWY_INLINE void prefetch(const T* from, std::size_t ahead) {
    const auto address = reinterpret_cast<std::uintptr_t>(from) + ahead * sizeof(T);
    __builtin_prefetch(reinterpret_cast<const void*>(address), k_to_write ? 1 : 0);
}

template <class T>
HWY_INLINE void store_part(typename Lanes<T>::V v, T* to, std::size_t n) {
    const typename Lanes<T>::D d;
    HWY_ALIGN T part[64 / sizeof(T)];
    hn::Store(v, d, part);
    for (std::size_t i = 0; i < n; ++i) to[i] = part[i];
}

template <class T>
HWY_INLINE typename Lanes<T>::V load_strided_part(const T* from, std::size_t n,
                                                  std::size_t stride) {
    const typename Lanes<T>::D d;
    HWY_ALIGN T part[64 / sizeof(T)] = {};
    for (std::size_t i = 0; i < n; ++i) part[i] = from[i * stride];
    return hn::Load(d, part);
}

// ------------------------------------------------------------------------ interpolation

/// (9 (b + c) - (a + d)) / 16: the cubic through four points, in its middle.
template <class T, class V>
HWY_INLINE V cubic(V a, V b, V c, V e) {
    const typename Lanes<T>::D d;
    return hn::Sub(hn::Mul(hn::Add(b, c), hn::Set(d, static_cast<T>(0.5625))),
                   hn::Mul(hn::Add(a, e), hn::Set(d, static_cast<T>(0.0625))));
}

template <class T, class V>
HWY_INLINE V middle(V b, V c) {
    return hn::Mul(hn::Add(b, c), hn::Set(typename Lanes<T>::D(), static_cast<T>(0.5)));
}

// Weights of the four source rows where a row is missing. Missing rows point at below1.
struct Weights {
    double below3, below1, above1, above3;
};

template <class T>
struct Sources {
    const T* row[4];
    T weight[4];
};

enum class Kind { cubic, linear, weighted };

/// Which rows count and how. Quadratic through three points, or a line through two.
template <class T>
Kind choose_sources(const InterpolationRow<T>& row, bool cubic_wanted, Sources<T>& sources) {
    const bool a = row.below3 != nullptr;
    const bool c = row.above1 != nullptr;
    const bool e = row.above3 != nullptr;
    sources.row[0] = a ? row.below3 : row.below1;
    sources.row[1] = row.below1;
    sources.row[2] = c ? row.above1 : row.below1;
    sources.row[3] = e ? row.above3 : row.below1;
    if (c && a && e && cubic_wanted) return Kind::cubic;
    if (c && (!cubic_wanted || (!a && !e))) return Kind::linear;
    Weights w{0, 1, 0, 0};  // nothing but the row below
    if (c && e) {
        w = {0, 0.375, 0.75, -0.125};
    } else if (c) {
        w = {-0.125, 0.75, 0.375, 0};
    } else if (a) {
        w = {-0.5, 1.5, 0, 0};
    }
    sources.weight[0] = static_cast<T>(w.below3);
    sources.weight[1] = static_cast<T>(w.below1);
    sources.weight[2] = static_cast<T>(w.above1);
    sources.weight[3] = static_cast<T>(w.above3);
    return Kind::weighted;
}

template <class T, Kind k_kind, class Load>
HWY_INLINE typename Lanes<T>::V predict(const Sources<T>& s, std::size_t x, Load load) {
    const typename Lanes<T>::D d;
    const auto b = load(s.row[1] + x);
    const auto c = load(s.row[2] + x);
    if constexpr (k_kind == Kind::linear) {
        return middle<T>(b, c);
    } else {
        const auto a = load(s.row[0] + x);
        const auto e = load(s.row[3] + x);
        if constexpr (k_kind == Kind::cubic) return cubic<T>(a, b, c, e);
        const auto inner =
            hn::Add(hn::Mul(b, hn::Set(d, s.weight[1])), hn::Mul(c, hn::Set(d, s.weight[2])));
        const auto outer =
            hn::Add(hn::Mul(a, hn::Set(d, s.weight[0])), hn::Mul(e, hn::Set(d, s.weight[3])));
        return hn::Add(inner, outer);
    }
}

/// What a row's loop needs beside the sources.
template <class T, class Step>
struct RowLoop {
    using V = typename Lanes<T>::V;

    const InterpolationPass<T>& pass;
    const InterpolationRow<T>& row;
    typename Step::Exact& exact;
    const Constants<T> constants;
    const T* feedback;  ///< the previous row's residuals; null: no feedback
    T* residuals;       ///< where this row's go; may be null

    RowLoop(const InterpolationPass<T>& p, const InterpolationRow<T>& r, bool fresh,
            const Constants<T>& c, typename Step::Exact& e)
        : pass(p),
          row(r),
          exact(e),
          constants(c),
          feedback(fresh ? nullptr : p.residuals),
          residuals(p.residuals) {}

    /// Feedback moves the prediction by a share of what the previous row was off by.
    HWY_INLINE V settle(V v, V base, std::size_t x, std::size_t n, bool all,
                        typename Step::Codes codes) const {
        const typename Lanes<T>::D d;
        V p = base;
        if (feedback != nullptr) {
            p = hn::Add(base, hn::Mul(constants.weight, hn::LoadU(d, feedback + x)));
        }
        V reconstruction;
        V residual;
        Step::settle(constants, v, p, base, n, all, codes, row.position + x * pass.position_stride,
                     pass, exact, reconstruction, residual);
        if (residuals != nullptr) hn::StoreU(residual, d, residuals + x);
        return reconstruction;
    }
};

template <class T, Kind k_kind, class Step>
HWY_INLINE void line_row(const InterpolationPass<T>& pass, const InterpolationRow<T>& row,
                         const Sources<T>& sources, const RowLoop<T, Step> loop,
                         typename Step::Stream& stream) {
    using V = typename Lanes<T>::V;
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t stride = pass.original_stride;
    const T* original = row.original;
    T* out = row.out;
    for (std::size_t begin = 0; begin < pass.n_targets; begin += k_chunk_values) {
        const std::size_t end = HWY_MIN(begin + k_chunk_values, pass.n_targets);
        const auto codes = Step::open(stream, end - begin);
        std::size_t x = begin;
        // Whole vectors, as long as reading originals of stride 2 stays inside the row.
        const std::size_t whole = stride == 1 ? end : HWY_MIN(end, pass.n_original / 2);
        for (; x + lanes <= whole; x += lanes) {
            const V base = predict<T, k_kind>(sources, x, [](const T* p) HWY_ATTR {
                return hn::LoadU(typename Lanes<T>::D(), p);
            });
            V v = base;
            if constexpr (Step::k_encodes) {
                prefetch<false>(original + x * stride, pass.prefetch);
                v = hn::LoadU(d, original + x * stride);
                if (stride != 1) {
                    prefetch<false>(original + 2 * x + lanes, pass.prefetch);
                    v = hn::ConcatEven(d, hn::LoadU(d, original + 2 * x + lanes), v);
                }
            }
            if constexpr (!Step::k_encodes) prefetch<true>(out + x, pass.prefetch);
            const V r = loop.settle(v, base, x, lanes, true, codes + (x - begin));
            if (out != nullptr) hn::StoreU(r, d, out + x);
        }
        for (; x < end; x += lanes) {
            const std::size_t n = HWY_MIN(lanes, end - x);
            const V base = predict<T, k_kind>(
                sources, x, [n](const T* p) HWY_ATTR { return load_part<T>(p, n); });
            V v = base;
            if constexpr (Step::k_encodes) {
                v = load_strided_part<T>(original + x * stride, n, stride);
            }
            const V r = loop.settle(v, base, x, n, false, codes + (x - begin));
            if (out != nullptr) store_part<T>(r, out + x, n);
        }
        Step::close(stream, end - begin);
    }
    // Now, and not when the x pass reads the row: a load of what two stores have just written
    // waits until both have left the store queue.
    if (stride != 1 && out != nullptr) extend_row(out, pass.n_coarse, (pass.n_original & 1) != 0);
}

template <class T, class Step>
void line_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,
               std::size_t n_rows, typename Step::Stream& stream, typename Step::Exact& exact) {
    const Constants<T> constants(pass);
    for (std::size_t i = 0; i < n_rows; ++i) {
        const RowLoop<T, Step> loop(pass, rows[i], pass.fresh && i == 0, constants, exact);
        Sources<T> sources;
        switch (choose_sources(rows[i], pass.cubic, sources)) {
            case Kind::cubic:
                line_row<T, Kind::cubic, Step>(pass, rows[i], sources, loop, stream);
                break;
            case Kind::linear:
                line_row<T, Kind::linear, Step>(pass, rows[i], sources, loop, stream);
                break;
            case Kind::weighted:
                line_row<T, Kind::weighted, Step>(pass, rows[i], sources, loop, stream);
                break;
        }
    }
}

template <class T>
HWY_INLINE void store_interleaved_part(const T* even, typename Lanes<T>::V odd, T* out,
                                       std::size_t n) {
    HWY_ALIGN T part[64 / sizeof(T)];
    hn::Store(odd, typename Lanes<T>::D(), part);
    for (std::size_t i = 0; i < n; ++i) {
        out[2 * i] = even[i];
        out[2 * i + 1] = part[i];
    }
}

template <class T, bool k_cubic, class Step>
HWY_INLINE void x_row(const InterpolationPass<T>& pass, const InterpolationRow<T>& row,
                      const RowLoop<T, Step> loop, typename Step::Stream& stream) {
    using V = typename Lanes<T>::V;
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    const T* coarse = row.coarse;
    const T* original = row.original;
    T* out = row.out;
    for (std::size_t begin = 0; begin < pass.n_targets; begin += k_chunk_values) {
        const std::size_t end = HWY_MIN(begin + k_chunk_values, pass.n_targets);
        const auto codes = Step::open(stream, end - begin);
        for (std::size_t x = begin; x < end; x += lanes) {
            const std::size_t n = HWY_MIN(lanes, end - x);
            const bool all = n == lanes;
            // Coarse rows have room behind them: whole vectors may be read.
            const T* c = coarse + x;
            const V left = hn::LoadU(d, c);
            const V right = hn::LoadU(d, c + 1);
            const V base = k_cubic ? cubic<T>(hn::LoadU(d, c - 1), left, right, hn::LoadU(d, c + 2))
                                   : middle<T>(left, right);
            V v = base;
            if constexpr (Step::k_encodes) {
                const T* o = original + 2 * x;
                prefetch<false>(o, pass.prefetch);
                prefetch<false>(o + lanes, pass.prefetch);
                v = all ? hn::ConcatOdd(d, hn::LoadU(d, o + lanes), hn::LoadU(d, o))
                        : load_strided_part<T>(o + 1, n, 2);
            }
            const V r = loop.settle(v, base, x, n, all, codes + (x - begin));
            if (out == nullptr) continue;
            if constexpr (!Step::k_encodes) {
                prefetch<true>(out + 2 * x, pass.prefetch);
                prefetch<true>(out + 2 * x + lanes, pass.prefetch);
            }
            if (all) {
                store_interleaved<T>(left, r, out + 2 * x);
            } else {
                store_interleaved_part<T>(c, r, out + 2 * x, n);
            }
        }
        Step::close(stream, end - begin);
    }
    if (out != nullptr && (pass.n_original & 1) != 0) {
        out[pass.n_original - 1] = coarse[pass.n_coarse - 1];
    }
}

template <class T, class Step>
void x_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, std::size_t n_rows,
            typename Step::Stream& stream, typename Step::Exact& exact) {
    const Constants<T> constants(pass);
    for (std::size_t i = 0; i < n_rows; ++i) {
        const RowLoop<T, Step> loop(pass, rows[i], pass.fresh && i == 0, constants, exact);
        if (pass.cubic) {
            x_row<T, true, Step>(pass, rows[i], loop, stream);
        } else {
            x_row<T, false, Step>(pass, rows[i], loop, stream);
        }
    }
}

template <class T>
void decimate(const T* row, std::size_t n, T* even) {
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes < n; x += lanes) {  // <: the last value read is 2 (x + lanes) - 1 <= 2n - 2
        hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, row + 2 * x + lanes), hn::LoadU(d, row + 2 * x)),
                   d, even + x);
    }
    for (; x < n; ++x) even[x] = row[2 * x];
}

#define CAESURA_KERNELS(T, suffix)                                                                \
    void encode_lines_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, \
                               std::size_t n_rows, CodeWriter& codes, ExactValues<T>& exact) {    \
        line_pass<T, EncodeStep<T>>(pass, rows, n_rows, codes, exact);                            \
    }                                                                                             \
    void encode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,     \
                           std::size_t n_rows, CodeWriter& codes, ExactValues<T>& exact) {        \
        x_pass<T, EncodeStep<T>>(pass, rows, n_rows, codes, exact);                               \
    }                                                                                             \
    void decode_lines_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, \
                               std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {      \
        line_pass<T, DecodeStep<T>>(pass, rows, n_rows, codes, exact);                            \
    }                                                                                             \
    void decode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,     \
                           std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {          \
        x_pass<T, DecodeStep<T>>(pass, rows, n_rows, codes, exact);                               \
    }                                                                                             \
    void decimate_##suffix(const T* row, std::size_t n, T* even) { decimate<T>(row, n, even); }
CAESURA_KERNELS(float, f32)
CAESURA_KERNELS(double, f64)
#undef CAESURA_KERNELS

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {

#define CAESURA_DISPATCH(T, suffix)                                                          \
    HWY_EXPORT(encode_lines_##suffix);                                                       \
    HWY_EXPORT(encode_x_##suffix);                                                           \
    HWY_EXPORT(decode_lines_##suffix);                                                       \
    HWY_EXPORT(decode_x_##suffix);                                                           \
    HWY_EXPORT(decimate_##suffix);                                                           \
    template <>                                                                              \
    void encode_line_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, \
                          std::size_t n_rows, CodeWriter& codes, ExactValues<T>& exact) {    \
        HWY_DYNAMIC_DISPATCH(encode_lines_##suffix)(pass, rows, n_rows, codes, exact);       \
    }                                                                                        \
    template <>                                                                              \
    void encode_x_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,    \
                       std::size_t n_rows, CodeWriter& codes, ExactValues<T>& exact) {       \
        HWY_DYNAMIC_DISPATCH(encode_x_##suffix)(pass, rows, n_rows, codes, exact);           \
    }                                                                                        \
    template <>                                                                              \
    void decode_line_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, \
                          std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {      \
        HWY_DYNAMIC_DISPATCH(decode_lines_##suffix)(pass, rows, n_rows, codes, exact);       \
    }                                                                                        \
    template <>                                                                              \
    void decode_x_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,    \
                       std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {         \
        HWY_DYNAMIC_DISPATCH(decode_x_##suffix)(pass, rows, n_rows, codes, exact);           \
    }                                                                                        \
    template <>                                                                              \
    void decimate_row(const T* row, std::size_t n, T* even) {                                \
        HWY_DYNAMIC_DISPATCH(decimate_##suffix)(row, n, even);                               \
    }
CAESURA_DISPATCH(float, f32)
CAESURA_DISPATCH(double, f64)
#undef CAESURA_DISPATCH

}  // namespace caesura::codec
#endif
