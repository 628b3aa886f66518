// The row loops of the interpolation predictor, behind run-time dispatch.
//
// A pass along an axis doubles the grid in that axis. Along an outer axis a target row is predicted
// from up to four source rows (line_pass); along x the odd values of a row are predicted from its
// even ones (x_pass).
#pragma once

#include <hwy/base.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

/// Where the rows lie that a target row is predicted from, and how far on they are for the next
/// one.
template <class T>
struct InterpolationSources {
    // Along an outer axis: the reconstructed row at distance 1 below, and from there to those at
    // distance 3 below, 1 and 3 above (in values). Along x: the row's even values, with room for
    // one in front and two past the end.
    const T* below1 = nullptr;
    std::ptrdiff_t below3 = 0;
    std::ptrdiff_t above1 = 0;
    std::ptrdiff_t above3 = 0;
    std::size_t step = 0;
};

/// Target rows at even distances.
template <class T>
struct InterpolationRun {
    std::size_t n_rows = 0;
    bool alternate = false;  ///< rows 0, 2, 4 ... have sources[0], rows 1, 3, 5 ... sources[1]
    std::array<InterpolationSources<T>, 2> sources;
    // Near the grid's ends source rows are missing, but below1 always exists.
    std::size_t below3_begin = 0;  ///< rows from here on have one at distance 3 below
    std::size_t above1_end = 0;    ///< rows up to here have one at distance 1 above
    std::size_t above3_end = 0;
    const T* original = nullptr;  ///< encoder: the level's whole row of originals
    std::size_t original_step = 0;
    std::size_t original_ahead = 0;  ///< where to ask memory for originals that follow (in values)
    T* out = nullptr;                ///< null: nobody reads these rows again
    std::size_t out_step = 0;
    std::size_t out_ahead = 0;   ///< where to ask memory for rows that will be written
    std::uint64_t position = 0;  ///< decoder: where the first target lies in the block
    std::uint64_t position_step = 0;

    const InterpolationSources<T>& sources_of(std::size_t row) const {
        return sources[alternate ? row & 1 : 0];
    }
    const T* below1(std::size_t row) const {
        const InterpolationSources<T>& s = sources_of(row);
        return s.below1 + (alternate ? row / 2 : row) * s.step;
    }
};

/// What the rows of a pass share.
template <class T>
struct InterpolationPass {
    T step = 0;
    T inverse = 0;  ///< 1 / step
    T bound = 0;
    T weight = 0;            ///< of the previous row's residual
    T* residuals = nullptr;  ///< the previous row's residuals, n_targets and a vector; null: unused
    bool fresh = false;      ///< the first row handed over has no previous one
    bool cubic = true;
    bool compact = false;        ///< line_pass: rows hold only the even values
    std::size_t n_targets = 0;   ///< per row
    std::size_t n_coarse = 0;    ///< even values per row
    std::size_t n_original = 0;  ///< values in a row of originals (and of out, in x_pass)
    std::uint64_t position_stride = 1;
};

/// Hands a decoder the exact values in coding order and notes where they belong.
template <class T>
struct ExactFeed {
    const std::vector<T>& values;
    std::vector<std::uint32_t> positions;  ///< of those handed out
    bool missing = false;                  ///< more were asked for than there are

    T next(std::uint64_t position) {
        if (positions.size() == values.size()) {
            missing = true;
            return 0;
        }
        positions.push_back(static_cast<std::uint32_t>(position));
        return values[positions.size() - 1];
    }
};

template <class T>
void encode_line_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
                      CodeWriter& codes, ExactValues<T>& exact);
template <class T>
void encode_x_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
                   CodeWriter& codes, ExactValues<T>& exact);
template <class T>
void decode_line_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
                      CodeReader& codes, ExactFeed<T>& exact);
template <class T>
void decode_x_pass(const InterpolationPass<T>& pass, const InterpolationRun<T>& run,
                   CodeReader& codes, ExactFeed<T>& exact);
/// Every second value of a row: n of them from 2n - 1 or more.
template <class T>
void decimate_row(const T* row, std::size_t n, T* even);

// ------------------------------------------------------------------- one value at a time

/// What predictors see in place of a value v that is stored exactly, given its prediction p: v
/// itself where the lattice could have reached it, else p. So neither NaN nor a fill value of 1e20
/// spreads into the predictions around it.
template <class T>
T stand_in(T v, T p, T inverse) {
    constexpr T k_reach = 1073741824;  // 2^30 steps
    const T t = (v - p) * inverse;
    if (std::abs(t) < k_reach) return v;  // false for NaN
    return std::abs(p) < std::numeric_limits<T>::max() / 16 ? p : T{0};
}

/// Write what stands in past the ends of a row of even values, so that every odd target has four
/// neighbours: quadratic extrapolation, or a line towards a last target without right neighbour.
/// @param c  n values, with room for one in front and two behind. `odd_count`: does the whole row
/// have an odd number of values?
template <class T>
HWY_INLINE void extend_row(T* c, std::size_t n, bool odd_count) {
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

/// Does v have to come back bit for bit, whatever the bound? (-0 and denormals)
template <class T>
bool is_tiny(T v) {
    return std::abs(v) < std::numeric_limits<T>::min() && (v != 0 || std::signbit(v));
}

}  // namespace caesura::codec
