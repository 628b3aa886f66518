// The interpolation predictor's passes, once per instruction set: tiles of rows go to the loops of
// interpolation_rows-inl.hpp; what those leave over is settled here.
//
// Invariants:
//  - Codes and reconstructions do not depend on the vector length: every value has its own
//    prediction, and rows follow each other in order.
//  - Encoder and decoder form prediction, reconstruction and residual by the same operations.
//  - What is stored exactly goes through plain code (rare), the same for every target.
//
// Limit: a vector of a cubic encoding pass with feedback takes 22 operations on vectors (5
// prediction, 2 + 1 feedback, 5 quantising, 3 bound, 2 exact values, 3 zigzag, 1 to gather
// originals), 6 loads and 3 stores. Zen 4 issues 4 vector operations of 256 bits per cycle, so
// 512-bit vectors take 11 cycles: 0.69 cycles per float32 value. Decoding takes 17 operations: 0.53
// cycles. Measured from the first cache: 11 to 12 cycles per vector in long rows, 15 in rows of
// four vectors, where a row's own pointers and the loop's end take a quarter. Whole fields, all
// orders, in cycles per value on a busy machine: 128^3 (from memory) 1.1 to 1.7 encoding, 1.0 to
// 1.4 decoding; 64^3 (from the second cache) 1.3 to 2.2 and 1.1 to 1.8; pieces of 16 x 16 x 32,
// where every run and row costs more than its one or two vectors, 2.4 to 4.6 and 2.1 to 3.5. AVX2
// takes 1.1 to 1.4 times as long.
#include "codec/kernels/interpolation_kernels.hpp"

#include <algorithm>
#include <cstring>

#define CAESURA_KERNELS_OF_FLOATS
#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/interpolation_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "codec/kernels/interpolation_rows-inl.hpp"
#include "codec/kernels/simd_lattice-inl.hpp"

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

/// A vector after its codes are made or read.
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

/// A vector of which some values are stored exactly: the encoder's ...
template <class T>
Settled<T> settle_exactly(EncodeStep<T>, const InterpolationPass<T>& pass, typename Lanes<T>::V v,
                          typename Lanes<T>::V p, typename Lanes<T>::V base, std::size_t n,
                          std::int32_t* codes, std::uint64_t, ExactValues<T>& exact) {
    const typename Lanes<T>::D d;
    const Constants<T> c(pass);
    const auto r = to_lattice(hn::Mul(hn::Sub(v, p), c.inverse));
    const auto reconstruction = hn::Add(p, hn::Mul(to_values(r), c.step));
    InterpolationLanes<T> lanes;
    hn::StoreU(v, d, lanes.values);
    hn::StoreU(p, d, lanes.predictions);
    spill(Settled<T>{reconstruction, hn::Sub(reconstruction, base), zigzag(r)}, lanes);
    store_lanes(lanes, n, pass, exact);
    const Settled<T> settled = fill(lanes);
    hn::StoreU(settled.code, typename Lanes<T>::DI(), codes);
    return settled;
}

/// ... and the decoder's.
template <class T>
Settled<T> settle_exactly(DecodeStep<T>, const InterpolationPass<T>& pass, typename Lanes<T>::V,
                          typename Lanes<T>::V p, typename Lanes<T>::V base, std::size_t n,
                          const std::int32_t* codes, std::uint64_t position, ExactFeed<T>& exact) {
    const typename Lanes<T>::D d;
    const Constants<T> c(pass);
    const auto code = hn::LoadU(typename Lanes<T>::DI(), codes);
    const auto reconstruction = hn::Add(p, hn::Mul(to_values(unzigzag(code)), c.step));
    InterpolationLanes<T> lanes;
    hn::StoreU(p, d, lanes.predictions);
    spill(Settled<T>{reconstruction, hn::Sub(reconstruction, base), code}, lanes);
    fetch_lanes(lanes, n, pass, position, exact);
    return fill(lanes);
}

/// One pass over a run: fast loops, and between them vectors with exact values.
template <class T, class Step>
class Pass {
  public:
    using V = typename Lanes<T>::V;
    using D = typename Lanes<T>::D;
    using Codes = typename Step::Codes;

    Pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
         typename Step::Stream& stream, typename Step::Exact& exact)
        : pass_(pass), run_(run), stream_(stream), exact_(exact) {}

    void lines() {
        begin();
        over_tiles(
            [this](const Tile& tile, std::size_t row) HWY_ATTR {
                choose_sources(run_, row, tile.end_row, pass_.cubic, sources_);
                return sources_.end_row;
            },
            [this](const Tile& tile, Stop at, Codes codes) HWY_ATTR {
                switch (sources_.kind) {
                    case Kind::cubic:
                        return line_tile<Kind::cubic>(tile, at, codes);
                    case Kind::linear:
                        return line_tile<Kind::linear>(tile, at, codes);
                    case Kind::weighted:
                        break;
                }
                return line_tile<Kind::weighted>(tile, at, codes);
            },
            [this](const Tile& tile, const Stop& at, Codes codes)
                HWY_ATTR { line_vector(tile, at, codes); });
    }

    void along_x() {
        begin();
        over_tiles([](const Tile& tile, std::size_t) HWY_ATTR { return tile.end_row; },
                   [this](const Tile& tile, Stop at, Codes codes) HWY_ATTR {
                       return pass_.cubic ? x_tile<true>(tile, at, codes)
                                          : x_tile<false>(tile, at, codes);
                   },
                   [this](const Tile& tile, const Stop& at, Codes codes)
                       HWY_ATTR { x_vector(tile, at, codes); });
    }

  private:
    /// @param alike  up to which row those from a given one on are alike. @param rows  the loop
    /// over them. @param vector  what it leaves over.
    template <class Alike, class Rows, class Vector>
    HWY_INLINE void over_tiles(const Alike& alike, const Rows& rows, const Vector& vector) {
        const std::size_t n = pass_.n_targets;
        if (n == 0) {  // nothing but last values to copy
            rows({0, run_.n_rows, 0, 0}, {0, 0}, nullptr);
            return;
        }
        const std::size_t width = HWY_MIN(n, k_chunk_values);
        const std::size_t height = k_chunk_values / width;
        const std::size_t lanes = hn::Lanes(D());
        for (std::size_t row = 0; row < run_.n_rows; row += height) {
            for (std::size_t begin = 0; begin < n; begin += width) {
                Tile tile{row, HWY_MIN(row + height, run_.n_rows), begin,
                          HWY_MIN(begin + width, n)};
                const std::size_t n_codes = (tile.end_row - row) * tile.width();
                const std::size_t end_row = tile.end_row;
                const Codes codes = Step::open(stream_, n_codes);
                for (Stop at{row, begin}; at.row < end_row;) {
                    tile.end_row = end_row;
                    tile.end_row = alike(tile, at.row);
                    for (;;) {
                        at = rows(tile, at, codes);
                        if (at.row == tile.end_row) break;
                        vector(tile, at, codes);
                        at.x = HWY_MIN(at.x + lanes, tile.end);
                    }
                }
                Step::close(stream_, n_codes);
            }
        }
    }

    /// Feedback of zeros is none: it changes no prediction but for the sign of zeros, which no
    /// reconstruction depends on (a zero that is added to a prediction is +0).
    void begin() const {
        if (pass_.residuals == nullptr || !pass_.fresh) return;
        std::fill_n(pass_.residuals, pass_.n_targets, T{0});
    }

    template <Kind k_kind>
    HWY_INLINE Stop line_tile(const Tile& tile, Stop at, Codes codes) const {
        return pass_.compact ? line_tile<k_kind, true>(tile, at, codes)
                             : line_tile<k_kind, false>(tile, at, codes);
    }
    template <Kind k_kind, bool k_compact>
    HWY_INLINE Stop line_tile(const Tile& tile, Stop at, Codes codes) const {
        return pass_.residuals != nullptr ? line_rows<T, k_kind, k_compact, true, Step>(
                                                pass_, run_, sources_, tile, at, codes)
                                          : line_rows<T, k_kind, k_compact, false, Step>(
                                                pass_, run_, sources_, tile, at, codes);
    }

    template <bool k_cubic>
    HWY_INLINE Stop x_tile(const Tile& tile, Stop at, Codes codes) const {
        return pass_.residuals != nullptr
                   ? x_rows<T, k_cubic, true, Step>(pass_, run_, tile, at, codes)
                   : x_rows<T, k_cubic, false, Step>(pass_, run_, tile, at, codes);
    }

    /// The vector at a place, given its prediction without feedback and the originals.
    V settle(const Tile& tile, const Stop& at, Codes codes, V v, V base, std::size_t n) {
        const D d;
        V p = base;
        if (pass_.residuals != nullptr) {
            p = hn::Add(base,
                        hn::Mul(hn::Set(d, pass_.weight), hn::LoadU(d, pass_.residuals + at.x)));
        }
        const Settled<T> s = settle_exactly(
            Step(), pass_, v, p, base, n,
            codes + (at.row - tile.row) * tile.width() + (at.x - tile.begin),
            run_.position + at.row * run_.position_step + at.x * pass_.position_stride, exact_);
        if (pass_.residuals != nullptr) hn::StoreU(s.residual, d, pass_.residuals + at.x);
        return s.reconstruction;
    }

    HWY_NOINLINE void line_vector(const Tile& tile, const Stop& at, Codes codes) {
        const std::size_t whole = whole_line_vectors<T, Step>(pass_, tile);
        const std::size_t n = at.x < whole ? hn::Lanes(D()) : tile.end - at.x;
        const Part<T> part(n, 2 * n - 1);
        const T* rows[4];
        sources_.find(run_, at.row, rows);
        const RowWeights<T> weights(sources_.weights);
        const auto load = [&part](const T* from) HWY_ATTR { return load_part<T>(from, part); };
        const V base =
            sources_.kind == Kind::cubic    ? predict<T, Kind::cubic>(rows, weights, at.x, load)
            : sources_.kind == Kind::linear ? predict<T, Kind::linear>(rows, weights, at.x, load)
                                            : predict<T, Kind::weighted>(rows, weights, at.x, load);
        V v = base;
        if constexpr (Step::k_encodes) {
            const T* original = run_.original + at.row * run_.original_step;
            v = pass_.compact ? load_strided_part<T, 0>(original + 2 * at.x, part)
                              : load_part<T>(original + at.x, part);
        }
        const V r = settle(tile, at, codes, v, base, n);
        if (run_.out != nullptr) {
            store_part<T>(r, run_.out + at.row * run_.out_step + at.x, part);
        }
    }

    HWY_NOINLINE void x_vector(const Tile& tile, const Stop& at, Codes codes) {
        const D d;
        const std::size_t n = HWY_MIN(hn::Lanes(d), tile.end - at.x);
        const Part<T> part(n, 2 * n);
        const T* c = run_.below1(at.row) + at.x;
        const V left = hn::LoadU(d, c);
        const V right = hn::LoadU(d, c + 1);
        const V base = pass_.cubic ? cubic<T>(hn::LoadU(d, c - 1), left, right, hn::LoadU(d, c + 2))
                                   : middle<T>(left, right);
        V v = base;
        if constexpr (Step::k_encodes) {
            v = load_strided_part<T, 1>(run_.original + at.row * run_.original_step + 2 * at.x,
                                        part);
        }
        const V r = settle(tile, at, codes, v, base, n);
        if (run_.out != nullptr) {
            store_interleaved_part<T>(left, r, run_.out + at.row * run_.out_step + 2 * at.x, part);
        }
    }

    const InterpolationPass<T>& pass_;
    const InterpolationRun<T>& run_;
    typename Step::Stream& stream_;
    typename Step::Exact& exact_;
    Sources<T> sources_;
};

template <class T>
void decimate(const T* row, std::size_t n, T* even) {
    const typename Lanes<T>::D d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes < n; x += lanes) {  // <: the last value read is 2 (x + lanes) - 1 <= 2n - 2
        hn::StoreU(every_second<T, 0>(hn::LoadU(d, row + 2 * x), hn::LoadU(d, row + 2 * x + lanes)),
                   d, even + x);
    }
    for (; x < n; ++x) even[x] = row[2 * x];
}

#define CAESURA_KERNELS(T, suffix)                                                               \
    void encode_lines_##suffix(const InterpolationPass<T>& pass, const InterpolationRun<T>& run, \
                               CodeWriter& codes, ExactValues<T>& exact) {                       \
        Pass<T, EncodeStep<T>>(pass, run, codes, exact).lines();                                 \
    }                                                                                            \
    void encode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,     \
                           CodeWriter& codes, ExactValues<T>& exact) {                           \
        Pass<T, EncodeStep<T>>(pass, run, codes, exact).along_x();                               \
    }                                                                                            \
    void decode_lines_##suffix(const InterpolationPass<T>& pass, const InterpolationRun<T>& run, \
                               CodeReader& codes, ExactFeed<T>& exact) {                         \
        Pass<T, DecodeStep<T>>(pass, run, codes, exact).lines();                                 \
    }                                                                                            \
    void decode_x_##suffix(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,     \
                           CodeReader& codes, ExactFeed<T>& exact) {                             \
        Pass<T, DecodeStep<T>>(pass, run, codes, exact).along_x();                               \
    }                                                                                            \
    void decimate_##suffix(const T* row, std::size_t n, T* even) { decimate<T>(row, n, even); }
CAESURA_KERNELS(float, f32)
CAESURA_KERNELS(double, f64)
#undef CAESURA_KERNELS

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {

#define CAESURA_DISPATCH(T, suffix)                                                         \
    HWY_EXPORT(encode_lines_##suffix);                                                      \
    HWY_EXPORT(encode_x_##suffix);                                                          \
    HWY_EXPORT(decode_lines_##suffix);                                                      \
    HWY_EXPORT(decode_x_##suffix);                                                          \
    HWY_EXPORT(decimate_##suffix);                                                          \
    template <>                                                                             \
    void encode_line_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run, \
                          CodeWriter& codes, ExactValues<T>& exact) {                       \
        HWY_DYNAMIC_DISPATCH(encode_lines_##suffix)(pass, run, codes, exact);               \
    }                                                                                       \
    template <>                                                                             \
    void encode_x_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,    \
                       CodeWriter& codes, ExactValues<T>& exact) {                          \
        HWY_DYNAMIC_DISPATCH(encode_x_##suffix)(pass, run, codes, exact);                   \
    }                                                                                       \
    template <>                                                                             \
    void decode_line_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run, \
                          CodeReader& codes, ExactFeed<T>& exact) {                         \
        HWY_DYNAMIC_DISPATCH(decode_lines_##suffix)(pass, run, codes, exact);               \
    }                                                                                       \
    template <>                                                                             \
    void decode_x_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,    \
                       CodeReader& codes, ExactFeed<T>& exact) {                            \
        HWY_DYNAMIC_DISPATCH(decode_x_##suffix)(pass, run, codes, exact);                   \
    }                                                                                       \
    template <>                                                                             \
    void decimate_row(const T* row, std::size_t n, T* even) {                               \
        HWY_DYNAMIC_DISPATCH(decimate_##suffix)(row, n, even);                              \
    }
CAESURA_DISPATCH(float, f32)
CAESURA_DISPATCH(double, f64)
#undef CAESURA_DISPATCH

}  // namespace caesura::codec
#endif
