// The interpolation predictor's row loops, once per instruction set.
//
// Invariants:
//  - Codes and reconstructions do not depend on the vector length: every value has its own
//    prediction, and rows follow each other in order.
//  - Encoder and decoder form prediction, reconstruction and residual by the same operations.
//  - What is stored exactly goes through plain code (rare), the same for every target.
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

/// What turns predictions into reconstructions: by residuals that it makes ...
template <class T>
struct EncodeStep {
    static constexpr bool k_encodes = true;
    using L = Lanes<T>;
    using V = typename L::V;
    using VI = typename L::VI;
    using M = typename L::M;

    const InterpolationPass<T>& pass;
    CodeWriter& writer;
    ExactValues<T>& exact;
    std::uint32_t* out = nullptr;

    HWY_INLINE void begin(std::size_t) { out = writer.room(); }
    HWY_INLINE void end(std::size_t n) { writer.advance(n); }

    /// @param x  in the run begun last. @param n  lanes that count. `base`: the prediction without
    /// feedback; `residual`: reconstruction - base.
    HWY_INLINE V operator()(std::size_t x, std::size_t n, bool all, V v, V p, V base, std::uint64_t,
                            V& residual) {
        const typename L::D d;
        const typename L::DI di;
        const typename L::DBits db;
        const V t = hn::Mul(hn::Sub(v, p), hn::Set(d, pass.inverse));
        const VI r = to_lattice(t);
        const V rounded = to_values(r);
        V reconstruction = hn::Add(p, hn::Mul(rounded, hn::Set(d, pass.step)));
        residual = hn::Sub(reconstruction, base);
        VI code = zigzag(r);
        // -2^31 would be taken for the mark of an exact value.
        const M held = hn::And(hn::Lt(hn::Abs(hn::Sub(v, reconstruction)), hn::Set(d, pass.bound)),
                               hn::Ne(rounded, hn::Set(d, static_cast<T>(-2147483648.0))));
        const M zero_exponent = hn::RebindMask(
            d, hn::Eq(hn::And(hn::BitCast(db, v), hn::Set(db, k_exponent)), hn::Zero(db)));
        M usual = hn::AndNot(zero_exponent, held);
        if (!all) usual = hn::Or(usual, hn::Not(hn::FirstN(d, n)));
        if (HWY_UNLIKELY(!hn::AllTrue(d, usual))) {
            const M nonzero = hn::RebindMask(d, hn::Ne(hn::BitCast(db, v), hn::Zero(db)));
            M failed = hn::Or(hn::Not(held), hn::And(zero_exponent, nonzero));
            if (!all) failed = hn::And(failed, hn::FirstN(d, n));
            if (!hn::AllFalse(d, failed)) store(n, v, p, reconstruction, residual, code);
        }
        hn::StoreU(code, di, reinterpret_cast<std::int32_t*>(out + x));
        return reconstruction;
    }

  private:
    using Bits = hn::TFromD<typename L::DBits>;
    static constexpr Bits k_mantissa = (Bits{1} << (std::numeric_limits<T>::digits - 1)) - 1;
    static constexpr Bits k_exponent = std::numeric_limits<Bits>::max() - k_mantissa;

    HWY_NOINLINE void store(std::size_t n, V v, V p, V& reconstruction, V& residual, VI& code) {
        const typename L::D d;
        const typename L::DI di;
        InterpolationLanes<T> lanes;
        hn::StoreU(v, d, lanes.values);
        hn::StoreU(p, d, lanes.predictions);
        hn::StoreU(reconstruction, d, lanes.reconstructions);
        hn::StoreU(residual, d, lanes.residuals);
        hn::StoreU(code, di, reinterpret_cast<std::int32_t*>(lanes.codes));
        store_lanes(lanes, n, pass, exact);
        reconstruction = hn::LoadU(d, lanes.reconstructions);
        residual = hn::LoadU(d, lanes.residuals);
        code = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(lanes.codes));
    }
};

/// ... or by residuals that it is given.
template <class T>
struct DecodeStep {
    static constexpr bool k_encodes = false;
    using L = Lanes<T>;
    using V = typename L::V;
    using VI = typename L::VI;

    const InterpolationPass<T>& pass;
    CodeReader& reader;
    ExactFeed<T>& exact;
    const std::uint32_t* in = nullptr;

    HWY_INLINE void begin(std::size_t n) { in = reader.take(n); }
    HWY_INLINE void end(std::size_t) {}

    HWY_INLINE V operator()(std::size_t x, std::size_t n, bool all, V, V p, V base,
                            std::uint64_t position, V& residual) {
        const typename L::D d;
        const typename L::DI di;
        const VI code = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(in + x));
        V reconstruction = hn::Add(p, hn::Mul(to_values(unzigzag(code)), hn::Set(d, pass.step)));
        residual = hn::Sub(reconstruction, base);
        auto marked = hn::Eq(code, hn::Set(di, -1));
        if (!all) marked = hn::And(marked, hn::FirstN(di, n));
        if (HWY_UNLIKELY(!hn::AllFalse(di, marked))) {
            fetch(n, position, p, reconstruction, residual, code);
        }
        return reconstruction;
    }

  private:
    HWY_NOINLINE void fetch(std::size_t n, std::uint64_t position, V p, V& reconstruction,
                            V& residual, VI code) {
        const typename L::D d;
        const typename L::DI di;
        InterpolationLanes<T> lanes;
        hn::StoreU(p, d, lanes.predictions);
        hn::StoreU(reconstruction, d, lanes.reconstructions);
        hn::StoreU(residual, d, lanes.residuals);
        hn::StoreU(code, di, reinterpret_cast<std::int32_t*>(lanes.codes));
        fetch_lanes(lanes, n, pass, position, exact);
        reconstruction = hn::LoadU(d, lanes.reconstructions);
        residual = hn::LoadU(d, lanes.residuals);
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

/// Feedback: the prediction moves by a share of what the previous row was off by.
template <class T, class V>
HWY_INLINE V with_feedback(const InterpolationPass<T>& pass, bool fresh, std::size_t x, V base) {
    if (pass.residuals == nullptr || fresh) return base;
    const typename Lanes<T>::D d;
    return hn::Add(base, hn::Mul(hn::Set(d, pass.weight), hn::LoadU(d, pass.residuals + x)));
}

template <class T, Kind k_kind, class Step>
void line_row(const InterpolationPass<T>& pass, const InterpolationRow<T>& row,
              const Sources<T>& sources, bool fresh, Step& step) {
    using V = typename Lanes<T>::V;
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t stride = pass.original_stride;
    for (std::size_t begin = 0; begin < pass.n_targets; begin += k_chunk_values) {
        const std::size_t end = HWY_MIN(begin + k_chunk_values, pass.n_targets);
        step.begin(end - begin);
        std::size_t x = begin;
        // Whole vectors, as long as reading originals of stride 2 stays inside the row.
        const std::size_t whole = stride == 1 ? end : HWY_MIN(end, pass.n_original / 2);
        for (; x + lanes <= whole; x += lanes) {
            const V base = predict<T, k_kind>(sources, x, [](const T* p) HWY_ATTR {
                return hn::LoadU(typename Lanes<T>::D(), p);
            });
            const V p = with_feedback(pass, fresh, x, base);
            V v = p;
            if constexpr (Step::k_encodes) {
                const T* original = row.original + x * stride;
                v = hn::LoadU(d, original);
                if (stride != 1) v = hn::ConcatEven(d, hn::LoadU(d, original + lanes), v);
            }
            V residual;
            const V r = step(x - begin, lanes, true, v, p, base,
                             row.position + x * pass.position_stride, residual);
            if (pass.residuals != nullptr) hn::StoreU(residual, d, pass.residuals + x);
            if (row.out != nullptr) hn::StoreU(r, d, row.out + x);
        }
        for (; x < end; x += lanes) {
            const std::size_t n = HWY_MIN(lanes, end - x);
            const V base = predict<T, k_kind>(
                sources, x, [n](const T* p) HWY_ATTR { return load_part<T>(p, n); });
            const V p = with_feedback(pass, fresh, x, base);
            V v = p;
            if constexpr (Step::k_encodes) {
                v = load_strided_part<T>(row.original + x * stride, n, stride);
            }
            V residual;
            const V r = step(x - begin, n, false, v, p, base,
                             row.position + x * pass.position_stride, residual);
            if (pass.residuals != nullptr) hn::StoreU(residual, d, pass.residuals + x);
            if (row.out != nullptr) store_part<T>(r, row.out + x, n);
        }
        step.end(end - begin);
    }
}

template <class T, class Step>
void line_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,
               std::size_t n_rows, Step step) {
    for (std::size_t i = 0; i < n_rows; ++i) {
        const bool fresh = pass.fresh && i == 0;
        Sources<T> sources;
        switch (choose_sources(rows[i], pass.cubic, sources)) {
            case Kind::cubic:
                line_row<T, Kind::cubic>(pass, rows[i], sources, fresh, step);
                break;
            case Kind::linear:
                line_row<T, Kind::linear>(pass, rows[i], sources, fresh, step);
                break;
            case Kind::weighted:
                line_row<T, Kind::weighted>(pass, rows[i], sources, fresh, step);
                break;
        }
    }
}

/// Values that stand in past a coarse row's ends, so that every target has four neighbours:
/// quadratic extrapolation, or a line towards a last target without right neighbour.
template <class T>
void extend_row(T* c, std::size_t n, bool odd_count) {
    const T first = c[0];
    const T last = c[n - 1];
    const T before = n > 1 ? c[n - 2] : last;
    c[-1] = n > 2 ? T{3} * first - T{3} * c[1] + c[2] : first;
    if (odd_count) {
        c[n] = n > 2 ? T{3} * last - T{3} * before + c[n - 3] : last;
        c[n + 1] = last;
    } else {
        c[n] = T{2} * last - before;
        c[n + 1] = n > 2 ? T{3} * last - T{2} * before : last;
    }
}

template <class T, bool k_cubic, class Step>
void x_row(const InterpolationPass<T>& pass, const InterpolationRow<T>& row, bool fresh,
           Step& step) {
    using V = typename Lanes<T>::V;
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    extend_row(row.coarse, pass.n_coarse, (pass.n_original & 1) != 0);
    for (std::size_t begin = 0; begin < pass.n_targets; begin += k_chunk_values) {
        const std::size_t end = HWY_MIN(begin + k_chunk_values, pass.n_targets);
        step.begin(end - begin);
        for (std::size_t x = begin; x < end; x += lanes) {
            const std::size_t n = HWY_MIN(lanes, end - x);
            const bool all = n == lanes;
            // Coarse rows have room behind them: whole vectors may be read.
            const T* c = row.coarse + x;
            const V left = hn::LoadU(d, c);
            const V right = hn::LoadU(d, c + 1);
            const V base = k_cubic ? cubic<T>(hn::LoadU(d, c - 1), left, right, hn::LoadU(d, c + 2))
                                   : middle<T>(left, right);
            const V p = with_feedback(pass, fresh, x, base);
            V v = p;
            if constexpr (Step::k_encodes) {
                const T* original = row.original + 2 * x;
                v = all ? hn::ConcatOdd(d, hn::LoadU(d, original + lanes), hn::LoadU(d, original))
                        : load_strided_part<T>(original + 1, n, 2);
            }
            V residual;
            const V r = step(x - begin, n, all, v, p, base, row.position + x * pass.position_stride,
                             residual);
            if (pass.residuals != nullptr) hn::StoreU(residual, d, pass.residuals + x);
            if (row.out == nullptr) continue;
            T* out = row.out + 2 * x;
            if (all) {
                hn::StoreInterleaved2(left, r, d, out);
            } else {
                HWY_ALIGN T odd[64 / sizeof(T)];
                hn::Store(r, d, odd);
                for (std::size_t i = 0; i < n; ++i) {
                    out[2 * i] = c[i];
                    out[2 * i + 1] = odd[i];
                }
            }
        }
        step.end(end - begin);
    }
    if (row.out != nullptr && (pass.n_original & 1) != 0) {
        row.out[pass.n_original - 1] = row.coarse[pass.n_coarse - 1];
    }
}

template <class T, class Step>
void x_pass(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, std::size_t n_rows,
            Step step) {
    for (std::size_t i = 0; i < n_rows; ++i) {
        const bool fresh = pass.fresh && i == 0;
        if (pass.cubic) {
            x_row<T, true>(pass, rows[i], fresh, step);
        } else {
            x_row<T, false>(pass, rows[i], fresh, step);
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
        line_pass<T>(pass, rows, n_rows, EncodeStep<T>{pass, codes, exact});                      \
    }                                                                                             \
    void encode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,     \
                           std::size_t n_rows, CodeWriter& codes, ExactValues<T>& exact) {        \
        x_pass<T>(pass, rows, n_rows, EncodeStep<T>{pass, codes, exact});                         \
    }                                                                                             \
    void decode_lines_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows, \
                               std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {      \
        line_pass<T>(pass, rows, n_rows, DecodeStep<T>{pass, codes, exact});                      \
    }                                                                                             \
    void decode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRow<T>* rows,     \
                           std::size_t n_rows, CodeReader& codes, ExactFeed<T>& exact) {          \
        x_pass<T>(pass, rows, n_rows, DecodeStep<T>{pass, codes, exact});                         \
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
