// The interpolation predictor: levels and their memory. Plain code; interpolation_walk.hpp walks a
// level, and the loops over values are in interpolation_kernels.cpp.
//
// The grid of level l holds every 2^l-th value along each axis. The coarsest one is coded value by
// value; each finer level doubles the axes one after the other, in settings.order.
//
// Invariants:
//  - Until x is doubled, a level's new rows live x-decimated ("compact"), so that every load is
//    contiguous; rows with all indices even are rows of the next coarser grid.
//  - In the encoder a level's originals and reconstructions share one array: a value's original is
//    read once, when it is coded, and not after its place has been overwritten.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>

#include "codec/predictors/interpolation_walk.hpp"
#include "codec/predictors/levels.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {
namespace {

using namespace interpolation;  // NOLINT: this file is its implementation

// --------------------------------------------------------------------------- codecs

/// Makes codes of values ...
template <class T>
struct Encoding {
    static constexpr bool k_encodes = true;
    CodeWriter& codes;
    ExactValues<T>& exact;

    void lines(const InterpolationPass<T>& p, const InterpolationRun<T>& run) {
        encode_line_pass(p, run, codes, exact);
    }
    void along_x(const InterpolationPass<T>& p, const InterpolationRun<T>& run) {
        encode_x_pass(p, run, codes, exact);
    }
    /// One value on its own.
    T single(T p, T v, T step, T bound, std::uint64_t) {
        const T inverse = T{1} / step;
        const T t = (v - p) * inverse;
        std::uint32_t code = k_exact_code;
        T reconstruction = stand_in(v, p, inverse);
        if (std::abs(t) < T{2147483520}) {  // false for NaN
            const T rounded = std::rint(t);
            const T candidate = p + rounded * step;
            if (std::abs(v - candidate) < bound && !is_tiny(v)) {
                const auto r = static_cast<std::int32_t>(rounded);
                code = (static_cast<std::uint32_t>(r) << 1) ^ static_cast<std::uint32_t>(r >> 31);
                reconstruction = candidate;
            }
        }
        if (code == k_exact_code) exact.values.push_back(v);
        *codes.room() = code;
        codes.advance(1);
        return reconstruction;
    }
};

/// ... or values of codes.
template <class T>
struct Decoding {
    static constexpr bool k_encodes = false;
    CodeReader& codes;
    ExactFeed<T>& exact;

    void lines(const InterpolationPass<T>& p, const InterpolationRun<T>& run) {
        decode_line_pass(p, run, codes, exact);
    }
    void along_x(const InterpolationPass<T>& p, const InterpolationRun<T>& run) {
        decode_x_pass(p, run, codes, exact);
    }
    T single(T p, T, T step, T, std::uint64_t position) {
        const std::uint32_t code = *codes.take(1);
        if (code == k_exact_code) return stand_in(exact.next(position), p, T{1} / step);
        const std::uint32_t r = (code >> 1) ^ (0U - (code & 1U));
        return p + static_cast<T>(static_cast<std::int32_t>(r)) * step;
    }
};

// ------------------------------------------------------------------- memory and levels

/// Cuts working memory into arrays.
template <class T>
class Cutter {
  public:
    explicit Cutter(T* memory) : memory_(memory) {}
    T* take(std::size_t n) {
        T* piece = memory_ == nullptr ? nullptr : memory_ + used_;
        used_ += round_up_row(n);
        return piece;
    }
    std::size_t used() const { return used_; }

  private:
    T* memory_;
    std::size_t used_ = 0;
};

/// One level after the other, from the coarsest.
template <class T, class Codec>
class Interpolation {
  public:
    /// @param block  the originals (encoder) or where the result goes (decoder).
    Interpolation(const Geometry& geometry, const InterpolationSettings& settings,
                  const Quantiser<T>& quantiser, Codec& codec,
                  std::conditional_t<Codec::k_encodes, const T*, T*> block)
        : g_(geometry), settings_(settings), quantiser_(quantiser), codec_(codec), block_(block) {}

    void run(PredictorScratch& scratch) {
        Cutter<T> measure(nullptr);
        lay_out(measure);
        Cutter<T> cutter(reinterpret_cast<T*>(scratch.room(measure.used() * sizeof(T))));
        lay_out(cutter);
        if constexpr (Codec::k_encodes) decimate();
        code_coarsest();
        for (int level = g_.levels - 1; level >= 0; --level) {
            const Level<T> l = make_level(level);
            extend_coarse(l);
            LevelWalk<T, Codec>(g_, l, codec_).run();
        }
    }

  private:
    static constexpr std::size_t k_most_levels = 33;

    void lay_out(Cutter<T>& cutter) {
        for (int level = 1; level <= g_.levels; ++level) {
            const Extents n = g_.at_level(level);
            Rows<T>& grid = grids_[static_cast<std::size_t>(level)];
            grid = {nullptr, compact_stride(n[k_x]), n[1], n[2]};
            T* memory = cutter.take(n[0] * n[1] * n[2] * grid.stride + 3 * k_line_values);
            if (memory != nullptr) grid.first = memory + k_line_values;
        }
        if (g_.levels == 0) return;
        const Extents n = g_.extents;
        compact_ = ring(n, compact_stride((n[k_x] + 1) / 2), true);
        if (g_.first_pass_of(k_x) > 0) {
            T* memory = cutter.take(compact_.n_slots() * n[1] * n[2] * compact_.rows.stride +
                                    3 * k_line_values);
            if (memory != nullptr) compact_.rows.first = memory + k_line_values;
        }
        full_ = ring(n, n[k_x], false);
        // The encoder's finest level keeps only what later passes read.
        if (Codec::k_encodes && g_.first_pass_of(k_x) + 1 < g_.n_passes) {
            full_.rows.first = cutter.take(full_.n_slots() * n[1] * n[2] * n[k_x]);
        }
        for (T*& row : residuals_) row = cutter.take(n[k_x] + k_line_values);
    }

    /// How many planes a stage (compact: before x is doubled) must keep.
    PlaneRing<T> ring(const Extents& n, std::size_t stride, bool compact) const {
        const int p0 = g_.first_pass_of(0);
        const int px = g_.first_pass_of(k_x);
        PlaneRing<T> result;
        result.rows = {nullptr, stride, n[1], n[2]};
        if (p0 == g_.n_passes) return result;  // a single plane
        // Planes read each other in the pass along axis 0 only, and only in that pass' stage.
        if ((p0 < px) != compact || (compact && p0 == 0)) return result;
        result.n_even = std::min<std::size_t>(4, (n[0] + 1) / 2);
        result.own_odd = compact || p0 + 1 < g_.n_passes;
        return result;
    }

    Level<T> make_level(int level) const {
        Level<T> l;
        l.level = level;
        l.n = g_.at_level(level);
        l.coarse = grids_[static_cast<std::size_t>(level) + 1];
        l.compact = compact_;
        l.compact.rows.n1 = l.n[1];
        l.compact.rows.n2 = l.n[2];
        l.compact.rows.stride = compact_stride((l.n[k_x] + 1) / 2);
        l.residuals = residuals_;
        l.step = step_at_level(quantiser_.step, settings_, level);
        l.bound = quantiser_.bound;
        const Rows<T>& grid = grids_[static_cast<std::size_t>(level)];
        l.keeps_all = !Codec::k_encodes || level > 0;
        if constexpr (Codec::k_encodes) {
            l.originals = level == 0 ? block_rows<const T>()
                                     : Rows<const T>{grid.first, grid.stride, grid.n1, grid.n2};
        }
        if (level > 0) {
            l.full.rows = grid;
            l.full.whole = true;
        } else if constexpr (Codec::k_encodes) {
            l.full = full_;
        } else {
            l.full.rows = block_rows<T>();
            l.full.whole = true;
        }
        return l;
    }

    template <class U>
    Rows<U> block_rows() const {
        return {block_, g_.extents[k_x], g_.extents[1], g_.extents[2]};
    }

    /// Make the coarser grid's rows ready for passes along x.
    void extend_coarse(const Level<T>& l) const {
        const Extents n = g_.at_level(l.level + 1);
        for (std::size_t i0 = 0; i0 < n[0]; ++i0)
            for (std::size_t i1 = 0; i1 < n[1]; ++i1)
                for (std::size_t i2 = 0; i2 < n[2]; ++i2)
                    extend_row(l.coarse.row(i0, i1, i2), n[k_x], (l.n[k_x] & 1) != 0);
    }

    /// Ask memory for a row that follows later, be it inside the array or not.
    static void ask_ahead(const T* row, std::size_t n, std::size_t ahead) {
        const auto address = reinterpret_cast<std::uintptr_t>(row) + ahead * sizeof(T);
        for (std::size_t byte = 0; byte < n * sizeof(T); byte += 64) {
            __builtin_prefetch(reinterpret_cast<const void*>(address + byte));
        }
    }

    /// Originals of every level, each from the next finer one.
    void decimate() {
        for (int level = 1; level <= g_.levels; ++level) {
            const Extents n = g_.at_level(level);
            const Rows<T>& grid = grids_[static_cast<std::size_t>(level)];
            Rows<const T> finer = block_rows<const T>();
            if (level > 1) {
                const Rows<T>& rows = grids_[static_cast<std::size_t>(level) - 1];
                finer = {rows.first, rows.stride, rows.n1, rows.n2};
            }
            for (std::size_t i0 = 0; i0 < n[0]; ++i0)
                for (std::size_t i1 = 0; i1 < n[1]; ++i1)
                    for (std::size_t i2 = 0; i2 < n[2]; ++i2) {
                        const T* row = finer.row(2 * i0, 2 * i1, 2 * i2);
                        ask_ahead(row, 2 * n[k_x], 2 * k_prefetch_rows * finer.stride);
                        decimate_row(row, n[k_x], grid.row(i0, i1, i2));
                    }
        }
    }

    /// The coarsest grid: each value is predicted to be the one before.
    void code_coarsest() {
        const int level = g_.levels;
        const Extents n = g_.at_level(level);
        const T step = step_at_level(quantiser_.step, settings_, level);
        T last = 0;
        for (std::size_t i0 = 0; i0 < n[0]; ++i0)
            for (std::size_t i1 = 0; i1 < n[1]; ++i1)
                for (std::size_t i2 = 0; i2 < n[2]; ++i2)
                    for (std::size_t x = 0; x < n[k_x]; ++x) {
                        const std::uint64_t position =
                            (i0 * g_.strides[0] + i1 * g_.strides[1] + i2 * g_.strides[2] + x)
                            << level;
                        const Rows<T>& grid = grids_[static_cast<std::size_t>(level)];
                        T original = 0;
                        if constexpr (Codec::k_encodes) {
                            original = level == 0 ? block_[position] : grid.row(i0, i1, i2)[x];
                        }
                        last = codec_.single(last, original, step, quantiser_.bound, position);
                        if (level > 0) {
                            grid.row(i0, i1, i2)[x] = last;
                        } else if constexpr (!Codec::k_encodes) {
                            block_[position] = last;
                        }
                    }
    }

    const Geometry& g_;
    const InterpolationSettings& settings_;
    const Quantiser<T>& quantiser_;
    Codec& codec_;
    std::conditional_t<Codec::k_encodes, const T*, T*> block_;
    std::array<Rows<T>, k_most_levels + 1> grids_{};  ///< [0] is unused: that is the block
    PlaneRing<T> compact_;
    PlaneRing<T> full_;
    std::array<T*, 4> residuals_{};
};

}  // namespace

template <class T>
void encode_interpolation(const T* values, const Shape& shape, const Quantiser<T>& quantiser,
                          const InterpolationSettings& settings, PredictorScratch& scratch,
                          CodeWriter& codes, ExactValues<T>& exact) {
    const Geometry geometry(shape, settings);
    Encoding<T> encoding{codes, exact};
    Interpolation<T, Encoding<T>>(geometry, settings, quantiser, encoding, values).run(scratch);
    codes.finish();
}

template <class T>
Status decode_interpolation(T* values, const Shape& shape, const Quantiser<T>& quantiser,
                            const InterpolationSettings& settings, PredictorScratch& scratch,
                            CodeReader& codes, const ExactValues<T>& exact) {
    const Geometry geometry(shape, settings);
    ExactFeed<T> feed{exact.values, {}, false};
    Decoding<T> decoding{codes, feed};
    Interpolation<T, Decoding<T>>(geometry, settings, quantiser, decoding, values).run(scratch);
    if (feed.missing || feed.positions.size() != exact.values.size()) {
        return {
            StatusCode::corrupt,
            fmt::format("{} exact values are there, and the codes ask for {}", exact.values.size(),
                        feed.missing ? "more" : std::to_string(feed.positions.size()))};
    }
    // Only now: until here the block held what predictions may be made of.
    for (std::size_t i = 0; i < feed.positions.size(); ++i) {
        values[feed.positions[i]] = exact.values[i];
    }
    return {};
}

#define CAESURA_INSTANTIATE(T)                                                            \
    template void encode_interpolation(const T*, const Shape&, const Quantiser<T>&,       \
                                       const InterpolationSettings&, PredictorScratch&,   \
                                       CodeWriter&, ExactValues<T>&);                     \
    template Status decode_interpolation(T*, const Shape&, const Quantiser<T>&,           \
                                         const InterpolationSettings&, PredictorScratch&, \
                                         CodeReader&, const ExactValues<T>&);
CAESURA_INSTANTIATE(float)
CAESURA_INSTANTIATE(double)
#undef CAESURA_INSTANTIATE

}  // namespace caesura::codec
