// The interpolation predictor's inner loops: many rows at once, without a call.
//
// A loop goes over a tile of a run: some rows, or a stretch of one long row. Where a vector has
// values that must be stored exactly, it stops before it has written anything of that vector; the
// caller settles it with plain code (interpolation_kernels.cpp) and lets the loop go on behind it.
// Without calls the constants stay in registers, and the originals, which may lie where the
// reconstructions go, are still there when plain code looks at them.
//
// Included once per target, like Highway's own -inl.h files.
#if defined(CAESURA_CODEC_INTERPOLATION_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CAESURA_CODEC_INTERPOLATION_ROWS_INL
#undef CAESURA_CODEC_INTERPOLATION_ROWS_INL
#else
#define CAESURA_CODEC_INTERPOLATION_ROWS_INL
#endif

#include <hwy/highway.h>

#include "codec/kernels/interpolation_kernels.hpp"
#include "codec/kernels/simd_lattice-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

// ------------------------------------------------------------------------ parts of vectors

/// The first lanes of a vector, where a row ends.
template <class T>
struct Part {
    using D = typename Lanes<T>::D;
    using M = typename Lanes<T>::M;

    /// @param n_values  that belong to the n lanes in a row of twice as many: 2n or 2n - 1.
    HWY_INLINE Part(std::size_t n_lanes, std::size_t n_values)
        : n(n_lanes),
          n_strided(n_values),
          lanes(hn::FirstN(D(), n_lanes)),
          lower(hn::FirstN(D(), HWY_MIN(n_values, hn::Lanes(D())))),
          upper(hn::FirstN(D(), HWY_MAX(n_values, hn::Lanes(D())) - hn::Lanes(D()))) {}

    std::size_t n;
    std::size_t n_strided;
    M lanes;
    M lower;  ///< of the two vectors that hold n_strided values
    M upper;
};

#undef CAESURA_MASKED_LOADS
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
#define CAESURA_MASKED_LOADS 1  // that do not touch what the mask leaves out
#else
#define CAESURA_MASKED_LOADS 0
#endif

/// The first lanes; the rest is 0. Reads nothing past them.
template <class T>
HWY_INLINE typename Lanes<T>::V load_part(const T* from, const Part<T>& part) {
    const typename Lanes<T>::D d;
#if CAESURA_MASKED_LOADS
    return hn::MaskedLoad(part.lanes, d, from);
#else
    HWY_ALIGN T values[64 / sizeof(T)] = {};
    for (std::size_t i = 0; i < part.n; ++i) values[i] = from[i];
    return hn::Load(d, values);
#endif
}

/// Lane i is from[2i + k_from].
template <class T, int k_from>
HWY_INLINE typename Lanes<T>::V load_strided_part(const T* from, const Part<T>& part) {
    const typename Lanes<T>::D d;
#if CAESURA_MASKED_LOADS
    return every_second<T, k_from>(hn::MaskedLoad(part.lower, d, from),
                                   hn::MaskedLoad(part.upper, d, from + hn::Lanes(d)));
#else
    HWY_ALIGN T values[64 / sizeof(T)] = {};
    for (std::size_t i = 0; i < part.n; ++i) values[i] = from[2 * i + k_from];
    return hn::Load(d, values);
#endif
}

template <class T>
HWY_INLINE void store_part(typename Lanes<T>::V v, T* to, const Part<T>& part) {
    const typename Lanes<T>::D d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    hn::BlendedStore(v, part.lanes, d, to);
#else
    HWY_ALIGN T values[64 / sizeof(T)];
    hn::Store(v, d, values);
    for (std::size_t i = 0; i < part.n; ++i) to[i] = values[i];
#endif
}

template <class T>
HWY_INLINE void store_interleaved_part(typename Lanes<T>::V even, typename Lanes<T>::V odd, T* to,
                                       const Part<T>& part) {
    const typename Lanes<T>::D d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    hn::BlendedStore(interleave_lower<T>(even, odd), part.lower, d, to);
    hn::BlendedStore(interleave_upper<T>(even, odd), part.upper, d, to + hn::Lanes(d));
#else
    HWY_ALIGN T evens[64 / sizeof(T)] = {};  // whole: GCC 12 sees loops past the lanes there are
    HWY_ALIGN T odds[64 / sizeof(T)] = {};
    hn::Store(even, d, evens);
    hn::Store(odd, d, odds);
    for (std::size_t i = 0; i < part.n; ++i) {
        to[2 * i] = evens[i];
        to[2 * i + 1] = odds[i];
    }
#endif
}

// The block lies in memory and is met every second row; what the loops write has left the first
// cache since it was used last. Asked for this much ahead, be it inside an array or not.
inline constexpr std::size_t k_prefetch_codes = 256;

enum class For { reading_soon, reading_later, writing };

/// Ask memory for what lies `ahead` values on, be it inside the array or not.
template <For k_for, class T>
HWY_INLINE void ask(const T* from, std::size_t ahead) {
    const auto address = reinterpret_cast<std::uintptr_t>(from) + ahead * sizeof(T);
    const auto* place = reinterpret_cast<const void*>(address);
    if constexpr (k_for == For::writing) {
        __builtin_prefetch(place, 1);
    } else {
        __builtin_prefetch(place, 0, k_for == For::reading_soon ? 3 : 2);  // the second cache: 2
    }
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

enum class Kind { cubic, linear, weighted };

/// Which source rows count and how, for rows that have the same ones.
template <class T>
struct Sources {
    std::size_t end_row = 0;  ///< of the rows this holds for
    Kind kind = Kind::cubic;
    bool below3 = false;
    bool above1 = false;
    bool above3 = false;
    std::array<T, 4>
        weights{};  ///< weighted: quadratic through three points, or a line through two

    /// Missing rows are taken to be below1.
    HWY_INLINE void find(const InterpolationRun<T>& run, std::size_t row, const T* rows[4]) const {
        const InterpolationSources<T>& s = run.sources_of(row);
        rows[1] = run.below1(row);
        rows[0] = rows[1] + (below3 ? s.below3 : 0);
        rows[2] = rows[1] + (above1 ? s.above1 : 0);
        rows[3] = rows[1] + (above3 ? s.above3 : 0);
    }
};

/// For rows from `row` on. In place: a copy of what has just been written piece by piece would wait
/// for its stores.
template <class T>
HWY_INLINE void choose_sources(const InterpolationRun<T>& run, std::size_t row, std::size_t end_row,
                               bool cubic_wanted, Sources<T>& s) {
    const bool a = row >= run.below3_begin;
    const bool c = row < run.above1_end;
    const bool e = row < run.above3_end;
    s.below3 = a;
    s.above1 = c;
    s.above3 = e;
    if (!a) end_row = HWY_MIN(end_row, run.below3_begin);
    if (c) end_row = HWY_MIN(end_row, run.above1_end);
    if (e) end_row = HWY_MIN(end_row, run.above3_end);
    s.end_row = end_row;
    s.kind = Kind::weighted;
    if (c && a && e && cubic_wanted) s.kind = Kind::cubic;
    if (c && (!cubic_wanted || (!a && !e))) s.kind = Kind::linear;
    if (s.kind != Kind::weighted) return;
    if (c && e) {
        s.weights = {T{0}, static_cast<T>(0.375), static_cast<T>(0.75), static_cast<T>(-0.125)};
    } else if (c) {
        s.weights = {static_cast<T>(-0.125), static_cast<T>(0.75), static_cast<T>(0.375), T{0}};
    } else if (a) {
        s.weights = {static_cast<T>(-0.5), static_cast<T>(1.5), T{0}, T{0}};
    } else {
        s.weights = {T{0}, T{1}, T{0}, T{0}};  // nothing but the row below
    }
}

template <class T>
struct RowWeights {
    using V = typename Lanes<T>::V;
    explicit HWY_INLINE RowWeights(const std::array<T, 4>& w)
        : below3(hn::Set(typename Lanes<T>::D(), w[0])),
          below1(hn::Set(typename Lanes<T>::D(), w[1])),
          above1(hn::Set(typename Lanes<T>::D(), w[2])),
          above3(hn::Set(typename Lanes<T>::D(), w[3])) {}
    V below3, below1, above1, above3;
};

template <class T, Kind k_kind, class Load>
HWY_INLINE typename Lanes<T>::V predict(const T* const* rows, const RowWeights<T>& w, std::size_t x,
                                        Load load) {
    const auto b = load(rows[1] + x);
    const auto c = load(rows[2] + x);
    if constexpr (k_kind == Kind::linear) {
        return middle<T>(b, c);
    } else {
        const auto a = load(rows[0] + x);
        const auto e = load(rows[3] + x);
        if constexpr (k_kind == Kind::cubic) return cubic<T>(a, b, c, e);
        const auto inner = hn::Add(hn::Mul(b, w.below1), hn::Mul(c, w.above1));
        const auto outer = hn::Add(hn::Mul(a, w.below3), hn::Mul(e, w.above3));
        return hn::Add(inner, outer);
    }
}

// ------------------------------------------------------------------------ settling a vector

/// What a pass needs in registers.
template <class T>
struct Constants {
    using D = typename Lanes<T>::D;
    using V = typename Lanes<T>::V;
    explicit HWY_INLINE Constants(const InterpolationPass<T>& pass)
        : step(hn::Set(D(), pass.step)),
          inverse(hn::Set(D(), pass.inverse)),
          bound(hn::Set(D(), pass.bound)),
          weight(hn::Set(D(), pass.weight)) {}
    V step;
    V inverse;
    V bound;
    V weight;
};

/// Turns predictions into reconstructions where no value is stored exactly: by codes that it
/// makes ...
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

    /// @param base  the prediction without feedback. @param part  k_all: unused.
    /// Returns whether it could be done; if not, the results mean nothing.
    template <bool k_all>
    static HWY_INLINE bool settle(const Constants<T>& c, V v, V p, V base, const Part<T>& part,
                                  Codes codes, V& reconstruction, V& residual) {
        const V t = hn::Mul(hn::Sub(v, p), c.inverse);
        const V rounded = rounded_values(t);
        const auto r = to_lattice(t);
        reconstruction = hn::Add(p, hn::Mul(rounded, c.step));
        residual = hn::Sub(reconstruction, base);
        ask<For::writing>(codes, k_prefetch_codes);
        hn::StoreU(zigzag(r), typename L::DI(), codes);
        // Known early, so that the branch waits for one comparison only.
        M unusual = hn::Or(outside_lattice(r, rounded), tiny_lanes(v));
        M far = not_less(hn::Abs(hn::Sub(v, reconstruction)), c.bound);
        if constexpr (!k_all) {
            unusual = hn::And(unusual, part.lanes);
            far = hn::And(far, part.lanes);
        }
        return !any_lane<T>(unusual, far);
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

    template <bool k_all>
    static HWY_INLINE bool settle(const Constants<T>& c, V, V p, V base, const Part<T>& part,
                                  Codes codes, V& reconstruction, V& residual) {
        const typename L::DI di;
        const auto code = hn::LoadU(di, codes);
        reconstruction = hn::Add(p, hn::Mul(to_values(unzigzag(code)), c.step));
        residual = hn::Sub(reconstruction, base);
        auto marked = hn::Eq(code, hn::Set(di, -1));
        if constexpr (!k_all) marked = hn::And(marked, hn::FirstN(di, part.n));
        return hn::AllFalse(di, marked);
    }
};

// ------------------------------------------------------------------------ rows

/// Some rows of a run, or a stretch of one: as many values as fit a chunk of codes.
struct Tile {
    std::size_t row, end_row;
    std::size_t begin, end;  ///< targets of each row
    std::size_t width() const { return end - begin; }
};

/// Where a loop has stopped: before a vector, or behind the tile's last row.
struct Stop {
    std::size_t row, x;
};

/// How far whole vectors go from a tile's beginning, if they must not go past `limit`.
template <class T>
HWY_INLINE std::size_t whole_vectors(const Tile& tile, std::size_t limit) {
    const std::size_t lanes = hn::Lanes(typename Lanes<T>::D());
    return tile.begin + (limit - tile.begin) / lanes * lanes;
}

/// The targets of a tile's rows that are left behind whole vectors.
template <class T, class Step>
HWY_INLINE std::size_t whole_line_vectors(const InterpolationPass<T>& pass, const Tile& tile) {
    // The values of the block's last row must not be overrun.
    const bool strided = Step::k_encodes && pass.compact;
    return whole_vectors<T>(tile, strided ? HWY_MIN(tile.end, pass.n_original / 2) : tile.end);
}

/// What every pass does with a vector once it is interpolated.
template <class T, bool k_feedback, class Step>
struct Vectors {
    using D = typename Lanes<T>::D;
    using V = typename Lanes<T>::V;

    HWY_INLINE Vectors(const InterpolationPass<T>& pass, const InterpolationRun<T>& run)
        : constants(pass), original_ahead(run.original_ahead), out_ahead(run.out_ahead) {}

    /// Predict by `base` and the previous row's residual, and settle. Returns whether it could.
    template <bool k_all>
    HWY_INLINE bool settle_residual(V v, V base, T* residuals, typename Step::Codes codes,
                                    std::size_t x, const Part<T>& part, bool single, V& carried,
                                    V& reconstruction) const {
        const D d;
        V p = base;
        if constexpr (k_feedback) {
            if (!single) carried = hn::LoadU(d, residuals + x);
            p = hn::Add(base, hn::Mul(constants.weight, carried));
        }
        V residual;
        if (HWY_UNLIKELY(!Step::template settle<k_all>(constants, v, p, base, part, codes + x,
                                                       reconstruction, residual))) {
            return false;
        }
        if constexpr (k_feedback) {
            hn::StoreU(residual, d, residuals + x);
            carried = residual;
        }
        return true;
    }

    static HWY_INLINE V load_residual(const T* residuals) {
        return k_feedback ? hn::LoadU(D(), residuals) : hn::Zero(D());
    }

    Constants<T> constants;
    std::size_t original_ahead;
    std::size_t out_ahead;
};

/// What a pass along an outer axis does with a vector. Returns whether it could.
template <class T, Kind k_kind, bool k_compact, bool k_feedback, class Step>
struct LineVectors : Vectors<T, k_feedback, Step> {
    using D = typename Lanes<T>::D;
    using V = typename Lanes<T>::V;

    HWY_INLINE LineVectors(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
                           const Sources<T>& sources)
        : Vectors<T, k_feedback, Step>(pass, run), weights(sources.weights) {}

    template <bool k_all>
    HWY_INLINE bool settle(const T* const* rows, const T* original, T* out, T* residuals,
                           typename Step::Codes codes, std::size_t x, const Part<T>& part,
                           bool single, V& carried) const {
        const D d;
        const V base = predict<T, k_kind>(rows, weights, x, [&part](const T* from) HWY_ATTR {
            (void)part;
            if constexpr (k_all) return hn::LoadU(D(), from);
            if constexpr (!k_all) return load_part<T>(from, part);
        });
        V v = base;
        if constexpr (Step::k_encodes) v = load_original<k_all>(original, x, part);
        V reconstruction;
        if (HWY_UNLIKELY(!this->template settle_residual<k_all>(v, base, residuals, codes, x, part,
                                                                single, carried, reconstruction))) {
            return false;
        }
        if (out != nullptr) {
            ask<For::writing>(out + x, this->out_ahead);
            if constexpr (k_all) hn::StoreU(reconstruction, d, out + x);
            if constexpr (!k_all) store_part<T>(reconstruction, out + x, part);
        }
        return true;
    }

    template <bool k_all>
    HWY_INLINE V load_original(const T* original, std::size_t x, const Part<T>& part) const {
        const D d;
        const std::size_t lanes = hn::Lanes(d);
        const T* from = original + (k_compact ? 2 * x : x);
        ask<k_compact ? For::reading_soon : For::reading_later>(from, this->original_ahead);
        if constexpr (k_compact) ask<For::reading_soon>(from + lanes, this->original_ahead);
        if constexpr (!k_all) {
            if constexpr (k_compact) return load_strided_part<T, 0>(from, part);
            if constexpr (!k_compact) return load_part<T>(from, part);
        }
        if constexpr (!k_compact) return hn::LoadU(d, from);
        return every_second<T, 0>(hn::LoadU(d, from), hn::LoadU(d, from + lanes));
    }

    RowWeights<T> weights;
};

/// The rows of a tile, from `at` on.
template <class T, Kind k_kind, bool k_compact, bool k_feedback, class Step>
Stop line_rows(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
               const Sources<T>& sources, const Tile& tile, Stop at,
               typename Step::Codes tile_codes) {
    const std::size_t lanes = hn::Lanes(typename Lanes<T>::D());
    const LineVectors<T, k_kind, k_compact, k_feedback, Step> vectors(pass, run, sources);
    const std::size_t whole = whole_line_vectors<T, Step>(pass, tile);
    const std::size_t n_left = tile.end - whole;
    const Part<T> part(n_left, 2 * n_left - (n_left != 0 ? 1 : 0));
    T* residuals = pass.residuals;
    // Rows of one vector: waiting for the previous row's residual takes as long as all the rest,
    // and longer by way of memory.
    const bool single = pass.n_targets <= lanes;
    auto carried = vectors.load_residual(residuals);
    for (; at.row < tile.end_row; ++at.row, at.x = tile.begin) {
        const T* rows[4];
        sources.find(run, at.row, rows);
        const T* original = Step::k_encodes ? run.original + at.row * run.original_step : nullptr;
        T* out = run.out == nullptr ? nullptr : run.out + at.row * run.out_step;
        const auto codes = tile_codes + (at.row - tile.row) * tile.width() - tile.begin;
        for (; at.x < whole; at.x += lanes) {
            if (!vectors.template settle<true>(rows, original, out, residuals, codes, at.x, part,
                                               single, carried)) {
                return at;
            }
        }
        if (at.x < tile.end &&
            !vectors.template settle<false>(rows, original, out, residuals, codes, at.x, part,
                                            single, carried)) {
            return at;
        }
        // Now, and not when the x pass reads the row: a load of what two stores have just written
        // waits until both have left the store queue.
        if (k_compact && out != nullptr && tile.end == pass.n_targets) {
            extend_row(out, pass.n_coarse, (pass.n_original & 1) != 0);
        }
    }
    return at;
}

/// What a pass along x does with a vector. Returns whether it could.
template <class T, bool k_cubic, bool k_feedback, class Step>
struct XVectors : Vectors<T, k_feedback, Step> {
    using D = typename Lanes<T>::D;
    using V = typename Lanes<T>::V;

    HWY_INLINE XVectors(const InterpolationPass<T>& pass, const InterpolationRun<T>& run)
        : Vectors<T, k_feedback, Step>(pass, run) {}

    template <bool k_all>
    HWY_INLINE bool settle(const T* coarse, const T* original, T* out, T* residuals,
                           typename Step::Codes codes, std::size_t x, const Part<T>& part,
                           bool single, V& carried) const {
        const D d;
        const std::size_t lanes = hn::Lanes(d);
        // Coarse rows have room behind them: whole vectors may be read.
        const T* c = coarse + x;
        const V left = hn::LoadU(d, c);
        const V right = hn::LoadU(d, c + 1);
        const V base = k_cubic ? cubic<T>(hn::LoadU(d, c - 1), left, right, hn::LoadU(d, c + 2))
                               : middle<T>(left, right);
        V v = base;
        if constexpr (Step::k_encodes) {
            const T* o = original + 2 * x;
            ask<For::reading_later>(o, this->original_ahead);
            ask<For::reading_later>(o + lanes, this->original_ahead);
            if constexpr (k_all) {
                v = every_second<T, 1>(hn::LoadU(d, o), hn::LoadU(d, o + lanes));
            } else {
                v = load_strided_part<T, 1>(o, part);
            }
        }
        V reconstruction;
        if (HWY_UNLIKELY(!this->template settle_residual<k_all>(v, base, residuals, codes, x, part,
                                                                single, carried, reconstruction))) {
            return false;
        }
        if (out != nullptr) {
            ask<For::writing>(out + 2 * x, this->out_ahead);
            ask<For::writing>(out + 2 * x + lanes, this->out_ahead);
            if constexpr (k_all) store_interleaved<T>(left, reconstruction, out + 2 * x);
            if constexpr (!k_all)
                store_interleaved_part<T>(left, reconstruction, out + 2 * x, part);
        }
        return true;
    }
};

template <class T, bool k_cubic, bool k_feedback, class Step>
Stop x_rows(const InterpolationPass<T>& pass, const InterpolationRun<T>& run, const Tile& tile,
            Stop at, typename Step::Codes tile_codes) {
    const std::size_t lanes = hn::Lanes(typename Lanes<T>::D());
    const XVectors<T, k_cubic, k_feedback, Step> vectors(pass, run);
    const std::size_t whole = whole_vectors<T>(tile, tile.end);
    const Part<T> part(tile.end - whole, 2 * (tile.end - whole));
    const bool odd_last = (pass.n_original & 1) != 0 && tile.end == pass.n_targets;
    T* residuals = pass.residuals;
    const bool single = pass.n_targets <= lanes;
    auto carried = vectors.load_residual(residuals);
    for (; at.row < tile.end_row; ++at.row, at.x = tile.begin) {
        const T* coarse = run.below1(at.row);
        const T* original = Step::k_encodes ? run.original + at.row * run.original_step : nullptr;
        T* out = run.out == nullptr ? nullptr : run.out + at.row * run.out_step;
        const auto codes = tile_codes + (at.row - tile.row) * tile.width() - tile.begin;
        for (; at.x < whole; at.x += lanes) {
            if (!vectors.template settle<true>(coarse, original, out, residuals, codes, at.x, part,
                                               single, carried)) {
                return at;
            }
        }
        if (at.x < tile.end &&
            !vectors.template settle<false>(coarse, original, out, residuals, codes, at.x, part,
                                            single, carried)) {
            return at;
        }
        if (odd_last && out != nullptr) out[pass.n_original - 1] = coarse[pass.n_coarse - 1];
    }
    return at;
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
