// The interpolation predictor's geometry, and the walk over one level's planes and passes.
//
// Invariants:
//  - Axes of extent 1 are dropped and the rest spread over four: axis 0 is the outermost (if there
//    are several), axis 3 is x, contiguous in memory.
//  - A level is walked plane by plane along axis 0. What only neighbouring planes read lies in a
//    ring of four even planes and one odd plane: for 8 MB blocks that stays in the L2 cache.
//  - Rows whose x is not yet doubled are compact (every second value); compact rows with all
//    indices even are rows of the next coarser grid.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/kernels/interpolation_kernels.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec::interpolation {

inline constexpr int k_x = 3;
inline constexpr std::size_t k_line_values =
    16;  // of one cache line (float32); whole vectors overrun
inline constexpr std::uint64_t k_coarsest_extent = 4;
// The block lies in memory and is met every second row: asked for this many rows ahead.
inline constexpr std::size_t k_prefetch_rows = 4;
// Planes up to this size are brought into the second cache long before they are read.
inline constexpr std::size_t k_prefetch_plane_bytes = 128 << 10;

using Extents = std::array<std::size_t, 4>;

inline std::size_t round_up_row(std::size_t n) {
    return (n + k_line_values - 1) / k_line_values * k_line_values;
}

/// Values between compact rows: one before and two after each are room for extrapolation. Long
/// rows start on cache lines.
inline std::size_t compact_stride(std::size_t n) { return n >= 24 ? round_up_row(n + 3) : n + 3; }

/// The block with axes of extent 1 dropped, and what the settings say of the others.
struct Geometry {
    Extents extents{1, 1, 1, 1};
    Extents strides{};  ///< in the block, in values
    int n_passes = 0;
    std::array<int, 4> order{};     ///< axes, first pass first
    std::array<int, 4> position{};  ///< of each axis in order; n_passes if it has no pass
    std::array<int, 4> feedback{};  ///< by axis
    std::array<bool, 4> cubic{};    ///< by axis
    int levels = 0;                 ///< the coarsest grid's level

    Geometry(const Shape& shape, const InterpolationSettings& settings) {
        std::array<int, 4> place{-1, -1, -1, -1};  // of the block's axes among the four
        const int n_axes = static_cast<int>(
            std::count_if(shape.data(), shape.data() + shape.rank(), [](auto n) { return n > 1; }));
        int left = n_axes;
        for (int axis = 0; axis < shape.rank(); ++axis) {
            if (shape[axis] == 1) continue;
            // The last one is x, and the first of several is axis 0, along which planes stream.
            const int to = left == n_axes && left > 1 ? 0 : 4 - left;
            --left;
            place[static_cast<std::size_t>(axis)] = to;
            const auto index = static_cast<std::size_t>(to);
            extents[index] = shape[axis];
            feedback[index] = settings.feedback[static_cast<std::size_t>(axis)];
            cubic[index] = ((settings.cubic >> axis) & 1) != 0;
        }
        for (int i = 0; i < shape.rank(); ++i) {
            const int axis = place[settings.order[static_cast<std::size_t>(i)]];
            if (axis >= 0) order[static_cast<std::size_t>(n_passes++)] = axis;
        }
        position.fill(n_passes);
        for (int i = 0; i < n_passes; ++i) {
            position[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
        }
        strides = {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
        const std::uint64_t largest = *std::max_element(extents.begin(), extents.end());
        while (((largest - 1) >> levels) + 1 > k_coarsest_extent) ++levels;
    }

    Extents at_level(int level) const {
        Extents n{};
        for (std::size_t a = 0; a < 4; ++a) n[a] = ((extents[a] - 1) >> level) + 1;
        return n;
    }
    int first_pass_of(int axis) const { return position[static_cast<std::size_t>(axis)]; }
};

/// Rows of one array: a whole grid, or some planes of it.
template <class T>
struct Rows {
    T* first = nullptr;
    std::size_t stride = 0;  ///< values between rows
    std::size_t n1 = 1;      ///< rows per plane: n1 * n2
    std::size_t n2 = 1;
    T* row(std::size_t plane, std::size_t i1, std::size_t i2) const {
        return first + ((plane * n1 + i1) * n2 + i2) * stride;
    }
};

/// Planes that only live while their neighbours need them.
template <class T>
struct PlaneRing {
    Rows<T> rows;
    std::size_t n_even = 1;  ///< planes for even indices
    bool own_odd = false;    ///< odd planes have one of their own, else they share the first
    bool whole = false;      ///< no ring: every plane has its place

    T* row(std::size_t i0, std::size_t i1, std::size_t i2) const {
        return rows.row(slot(i0), i1, i2);
    }
    std::size_t n_slots() const { return n_even + (own_odd ? 1 : 0); }

  private:
    std::size_t slot(std::size_t i0) const {
        if (whole) return i0;
        if ((i0 & 1) != 0) return own_odd ? n_even : 0;
        return n_even == 1 ? 0 : (i0 / 2) % 4;
    }
};

/// Everything a level needs beside its codes.
template <class T>
struct Level {
    int level = 0;
    Extents n{};
    Rows<T> coarse;           ///< the next coarser grid, reconstructed
    Rows<const T> originals;  ///< encoder
    PlaneRing<T> compact;
    PlaneRing<T> full;
    std::array<T*, 4> residuals{};  ///< previous rows for feedback, by axis
    T step = 0;
    T bound = 0;
    bool keeps_all = false;  ///< even what no later pass of this level reads
};

// --------------------------------------------------------------------------- the walk

template <class T, class Codec>
class LevelWalk {
  public:
    LevelWalk(const Geometry& geometry, const Level<T>& level, Codec& codec)
        : g_(geometry), l_(level), codec_(codec) {
        for (int i = 0; i < g_.n_passes; ++i) set_up(passes_[static_cast<std::size_t>(i)], i);
    }

    void run() {
        const int p0 = g_.first_pass_of(0);
        // Odd planes follow as soon as the even planes they are predicted from are there.
        std::size_t odd = 1;
        for (std::size_t i0 = 0; i0 < l_.n[0]; i0 += 2) {
            for (int pass = 0; pass < p0; ++pass) run_pass(pass, i0);
            for (; odd + 3 <= i0; odd += 2) run_odd(odd, p0);
            for (int pass = p0 + 1; pass < g_.n_passes; ++pass) run_pass(pass, i0);
        }
        for (; odd < l_.n[0]; odd += 2) run_odd(odd, p0);
    }

  private:
    /// Which indices of an inner axis have target rows in a pass.
    struct Range {
        std::size_t begin, end, step;
        std::size_t count() const { return begin < end ? (end - begin + step - 1) / step : 0; }
    };
    /// One pass, and what of it does not change from plane to plane.
    struct Pass {
        InterpolationPass<T> kernel;
        int axis = 0;
        bool full = false;  ///< x is doubled already
        bool keep = false;  ///< somebody reads the rows again
        bool single = false;
        bool started = false;
        Range range1{}, range2{};
        InterpolationRun<T> run;  ///< all but pointers, positions and what axis 0 and 1 lack
    };

    void run_odd(std::size_t i0, int p0) {
        for (int pass = p0; pass < g_.n_passes; ++pass) run_pass(pass, i0);
    }

    /// One pass over the rows of a plane.
    void run_pass(int pass_index, std::size_t i0) {
        Pass& pass = passes_[static_cast<std::size_t>(pass_index)];
        if (pass.run.n_rows == 0) return;
        // Several rows start afresh in every plane; a single one carries on from the plane before.
        pass.kernel.fresh = !pass.single || !pass.started;
        pass.started = true;
        const Planes planes = find_planes(pass, i0);
        for (std::size_t i1 = pass.range1.begin; i1 < pass.range1.end; i1 += pass.range1.step) {
            hand_over(pass, planes, i0, i1);
            pass.kernel.fresh = false;
        }
    }

    Range range(std::size_t axis, int pass_index) const {
        const std::size_t n = l_.n[axis];
        if (static_cast<int>(axis) == g_.order[static_cast<std::size_t>(pass_index)]) {
            return {1, n, 2};
        }
        const bool doubled = g_.position[axis] < pass_index;
        return {0, n, doubled ? std::size_t{1} : std::size_t{2}};
    }

    void set_up(Pass& pass, int pass_index) const {
        pass.axis = g_.order[static_cast<std::size_t>(pass_index)];
        pass.full = g_.first_pass_of(k_x) < pass_index;
        pass.keep = l_.keeps_all || pass_index + 1 < g_.n_passes;
        pass.range1 = range(1, pass_index);
        pass.range2 = range(2, pass_index);
        pass.single = pass.range1.count() * pass.range2.count() == 1;
        const auto index = static_cast<std::size_t>(pass.axis);
        const std::size_t n = l_.n[k_x];
        InterpolationPass<T>& kernel = pass.kernel;
        kernel.step = l_.step;
        kernel.inverse = T{1} / l_.step;
        kernel.bound = l_.bound;
        kernel.weight = static_cast<T>(g_.feedback[index]) / T{16};
        kernel.residuals = g_.feedback[index] == 0 ? nullptr : l_.residuals[index];
        kernel.cubic = g_.cubic[index];
        kernel.compact = pass.axis != k_x && !pass.full;
        kernel.n_coarse = (n + 1) / 2;
        kernel.n_targets = pass.axis == k_x ? n / 2 : pass.full ? n : kernel.n_coarse;
        kernel.n_original = n;
        kernel.position_stride = (pass.full ? std::uint64_t{1} : std::uint64_t{2}) << l_.level;
        set_up_run(pass);
    }

    void set_up_run(Pass& pass) const {
        const std::size_t step = pass.range2.step;
        InterpolationRun<T>& run = pass.run;
        run.n_rows = pass.range1.count() == 0 ? 0 : pass.range2.count();
        run.original_step = step * l_.originals.stride;
        run.position_step = (step * g_.strides[2]) << l_.level;
        const PlaneRing<T>& stage = pass.full || pass.axis == k_x ? l_.full : l_.compact;
        run.out_step = step * stage.rows.stride;
        run.out_ahead = k_prefetch_rows * run.out_step;
        run.original_ahead = k_prefetch_rows * run.original_step;
        // Passes over whole rows meet each of the block's rows once. While they compute, memory
        // has time to bring the plane after the next, and compact passes need not wait for it.
        const std::size_t plane = l_.originals.stride * l_.n[1] * l_.n[2];
        if (!pass.kernel.compact && plane * sizeof(T) <= k_prefetch_plane_bytes) {
            run.original_ahead = 2 * plane;
        }
        if (pass.axis == 2) {  // row r has index 2r + 1
            run.below3_begin = 1;
            run.above1_end = (l_.n[2] - 1) / 2;
            run.above3_end = l_.n[2] < 3 ? 0 : (l_.n[2] - 3) / 2;
        }
    }

    /// Where the planes lie that a pass over plane i0 meets: found once per pass, not per row.
    struct Planes {
        // Of the target's own plane, and for passes along axis 0 of those at -3, -1, 1, 3: rows of
        // the pass' stage, and rows of the coarser grid (where the index is even; else null).
        T* own = nullptr;
        T* own_coarse = nullptr;
        std::array<T*, 4> around{};
        std::array<T*, 4> around_coarse{};
        std::size_t stride = 0;
    };

    Planes find_planes(const Pass& pass, std::size_t i0) const {
        const PlaneRing<T>& stage = pass.full ? l_.full : l_.compact;
        Planes planes;
        planes.stride = stage.rows.stride;
        if (stage.rows.first != nullptr) planes.own = stage.row(i0, 0, 0);
        if ((i0 & 1) == 0) planes.own_coarse = l_.coarse.row(i0 / 2, 0, 0);
        if (pass.axis != 0) return planes;
        for (std::size_t k = 0; k < 4; ++k) {
            const std::size_t i = i0 + 2 * k - 3;  // wraps below 0
            if (i >= l_.n[0]) continue;
            if (stage.rows.first != nullptr) planes.around[k] = stage.row(i, 0, 0);
            planes.around_coarse[k] = l_.coarse.row(i / 2, 0, 0);
        }
        return planes;
    }

    void hand_over(Pass& pass, const Planes& planes, std::size_t i0, std::size_t i1) {
        InterpolationRun<T>& run = pass.run;
        const bool along_x = pass.axis == k_x;
        const std::size_t i2 = pass.range2.begin;
        if (Codec::k_encodes) run.original = l_.originals.row(i0, i1, i2);
        run.position = i0 * g_.strides[0] + i1 * g_.strides[1] + i2 * g_.strides[2];
        if (along_x) ++run.position;
        run.position <<= l_.level;
        if (pass.keep) {
            run.out = along_x ? l_.full.row(i0, i1, i2)
                              : planes.own + (i1 * l_.n[2] + i2) * planes.stride;
        }
        // Rows with all indices even, but for the pass' own axis, are rows of the coarser grid.
        const std::size_t others = pass.axis == 0 ? i1 : pass.axis == 1 ? i0 : i0 | i1;
        const bool coarse = !pass.full && (others & 1) == 0;
        run.alternate = coarse && pass.range2.step == 1 && run.n_rows > 1;
        set_sources(pass, planes, i1, i2, coarse, run.sources[0]);
        if (run.alternate) set_sources(pass, planes, i1, i2 + 1, false, run.sources[1]);
        if (along_x) {
            codec_.along_x(pass.kernel, run);
        } else {
            if (pass.axis == 0) set_ends(run, i0, l_.n[0]);
            if (pass.axis == 1) set_ends(run, i1, l_.n[1]);
            codec_.lines(pass.kernel, run);
        }
    }

    /// Which neighbours the row or plane with index i of n has.
    static void set_ends(InterpolationRun<T>& run, std::size_t i, std::size_t n) {
        run.below3_begin = i >= 3 ? 0 : run.n_rows;
        run.above1_end = i + 1 < n ? run.n_rows : 0;
        run.above3_end = i + 3 < n ? run.n_rows : 0;
    }

    /// @param coarse  they are rows of the coarser grid.
    void set_sources(const Pass& pass, const Planes& planes, std::size_t i1, std::size_t i2,
                     bool coarse, InterpolationSources<T>& s) const {
        // Between rows of even indices along axis 2, and along axis 1.
        const std::size_t next2 = coarse ? l_.coarse.stride : 2 * planes.stride;
        const std::size_t next1 = next2 * (coarse ? l_.coarse.n2 : l_.n[2]);
        s.step = pass.range2.step == 2 || pass.run.alternate ? next2 : planes.stride;
        const auto row = [&](T* plane, std::size_t j1, std::size_t j2) {
            return coarse ? plane + j1 / 2 * next1 + j2 / 2 * next2
                          : plane + (j1 * l_.n[2] + j2) * planes.stride;
        };
        T* own = coarse ? planes.own_coarse : planes.own;
        if (pass.axis == k_x) {
            s.below1 = row(own, i1, i2);
        } else if (pass.axis == 0) {
            const auto& around = coarse ? planes.around_coarse : planes.around;
            const T* below1 = around[1];
            s.below1 = row(around[1], i1, i2);
            s.below3 = around[0] == nullptr ? 0 : around[0] - below1;
            s.above1 = around[2] == nullptr ? 0 : around[2] - below1;
            s.above3 = around[3] == nullptr ? 0 : around[3] - below1;
        } else {
            s.below1 = pass.axis == 1 ? row(own, i1 - 1, i2) : row(own, i1, i2 - 1);
            const auto next = static_cast<std::ptrdiff_t>(pass.axis == 1 ? next1 : next2);
            s.below3 = -next;
            s.above1 = next;
            s.above3 = 2 * next;
        }
    }

    const Geometry& g_;
    const Level<T>& l_;
    Codec& codec_;
    std::array<Pass, 4> passes_;
};

}  // namespace caesura::codec::interpolation
