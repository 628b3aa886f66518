#include "codec/estimate/row_sample.hpp"

#include <algorithm>
#include <cmath>

#include "codec/kernels/sample_kernels.hpp"
#include "codec/predictors/levels.hpp"

namespace caesura::codec {
namespace {

using interpolation::k_x;

constexpr std::size_t k_rows_in_use = 1024;
// A predicted row of the last of four passes: two of each pass before next to it, and two beyond.
constexpr std::size_t k_rows_for_one = 64;

}  // namespace

template <class T>
RowSample<T>::RowSample(const Spots<T>& spots, const Shape& shape, const Quantiser<T>& quantiser,
                        const InterpolationSettings& settings, PredictorScratch& scratch)
    : values_(spots.values()),
      quantiser_(quantiser),
      settings_(settings),
      geometry_(shape, settings),
      scratch_(scratch) {
    // The walk's axes are those that have an extent, like the spots', if not in the same places.
    std::size_t from = 0;
    for (std::size_t a = 0; a < 4; ++a) {
        if (geometry_.extents[a] == 1) continue;
        while (spots.axes().extent[from] == 1) ++from;
        geometry_.strides[a] = static_cast<std::size_t>(spots.axes().stride[from++]);
    }
    while (row_axis_ > 0 && geometry_.extents[row_axis_] == 1) --row_axis_;
}

template <class T>
auto RowSample<T>::pass_of(int index) const -> Pass {
    Pass pass;
    pass.index = index;
    pass.axis = geometry_.order[static_cast<std::size_t>(index)];
    pass.full = geometry_.first_pass_of(k_x) < index;
    for (std::size_t a = 0; a < 3; ++a) {
        const bool along = static_cast<int>(a) == pass.axis;
        const bool doubled = geometry_.position[a] < index;
        pass.first[a] = along ? 1 : 0;
        pass.spacing[a] = doubled ? 1 : 2;
        pass.count[a] = (extents_[a] - pass.first[a] + pass.spacing[a] - 1) / pass.spacing[a];
    }
    const std::size_t n = extents_[k_x];
    pass.targets = pass.axis == k_x ? n / 2 : pass.full ? n : (n + 1) / 2;
    return pass;
}

template <class T>
auto RowSample<T>::group_of(const Pass& pass, std::size_t i, std::size_t n) const -> Group {
    Group group;
    // Long rows are cut into as few pieces as may be.
    const std::size_t row = extents_[k_x];
    const std::size_t cuts = (row + k_row_values - 1) / k_row_values;
    const std::size_t piece = cuts == 1 ? row : ((row + cuts - 1) / cuts + 1) / 2 * 2;
    const std::size_t in_row = std::max<std::size_t>(1, pass.targets / cuts);
    const std::size_t rows =
        std::clamp<std::size_t>((k_group_codes >> level_) / in_row, 2, k_most_rows - 1);
    Index4 places{pass.count[0], pass.count[1], pass.count[2], cuts};
    places[row_axis_] = (pass.count[row_axis_] + rows - 1) / rows;
    const Index4 place = spread(places, i, n);
    for (std::size_t a = 0; a < 4; ++a) group.at[a] = static_cast<std::size_t>(place[a]);
    const std::size_t begin = group.at[row_axis_] * rows;
    group.n_rows = std::min(rows, pass.count[row_axis_] - begin);
    group.at[row_axis_] = begin;
    for (std::size_t a = 0; a < 3; ++a) {
        group.at[a] = pass.first[a] + group.at[a] * pass.spacing[a];
    }
    // The row before tells what the feedback starts from; the first of a plane starts afresh.
    if (begin > 0 && geometry_.feedback[static_cast<std::size_t>(pass.axis)] != 0) {
        group.warms_up = true;
        group.at[row_axis_] -= pass.spacing[row_axis_];
        ++group.n_rows;
    }
    const std::size_t begins = group.at[k_x] * piece;
    const std::size_t ends = std::min(begins + piece, row);
    const std::size_t from = begins > k_beside ? begins - k_beside : 0;
    const auto targets_below = [&](std::size_t x) {
        return pass.axis == k_x ? x / 2 : pass.full ? x : (x + 1) / 2;
    };
    group.at[k_x] = from;
    group.n = std::min(ends + k_beside, row) - from;
    group.skip = targets_below(begins) - targets_below(from);
    group.keep = targets_below(ends) - targets_below(begins);
    return group;
}

template <class T>
const T* RowSample<T>::begin_of(const Group& group, const Extents& at) const {
    const auto& strides = geometry_.strides;
    return values_ + ((at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + group.at[k_x])
                      << level_);
}

/// Rows of a plane follow each other. Where a plane is a row, a pass goes on from plane to plane,
/// and odd ones follow as soon as the even ones around them are there: 0 2 1 4 3 6 5 ...
template <class T>
std::size_t RowSample<T>::row_of(const Pass& pass, const Group& group, std::size_t r) const {
    const std::size_t at = group.at[row_axis_] + r * pass.spacing[row_axis_];
    if (!interleaves(pass) || at == 0) return at;
    return std::min(at % 2 != 0 ? at + 1 : at - 1, extents_[row_axis_] - 1);
}

/// Ask memory for what encode() will read first.
template <class T>
void RowSample<T>::ask(const Pass& pass, const Group& group) const {
    const std::size_t bytes = ((group.n - 1) << level_) * sizeof(T) + 1;
    const auto ask_row = [&](const Extents& at) {
        const auto* begin = reinterpret_cast<const std::byte*>(begin_of(group, at));
        for (std::size_t b = 0; b < bytes; b += k_line_bytes) __builtin_prefetch(begin + b);
        __builtin_prefetch(begin + bytes - 1);
    };
    const auto axis = static_cast<std::size_t>(pass.axis);
    for (std::size_t r = 0; r < group.n_rows; ++r) {
        Extents at = group.at;
        at[row_axis_] = row_of(pass, group, r);
        ask_row(at);
        if (axis == k_x) continue;
        for (const int offset : {-1, 1, -3, 3}) {
            Extents of = at;
            of[axis] += static_cast<std::size_t>(offset);
            if (of[axis] < extents_[axis] && (axis != row_axis_ || r == 0 || offset == 3))
                ask_row(of);
        }
    }
}

template <class T>
T* RowSample<T>::room(std::size_t rows) {
    T* const first = memory_ + interpolation::k_line_values + used_ * stride_;
    used_ += rows;
    return first;
}

/// The originals of a row of the level's grid: in place, or taken from between others.
template <class T>
const T* RowSample<T>::originals(const Group& group, const Extents& at, T* out) const {
    const T* row = begin_of(group, at);
    if (level_ == 0) return row;
    for (std::size_t i = 0; i < group.n; ++i) out[i] = row[i << level_];
    return out;
}

template <class T>
InterpolationPass<T> RowSample<T>::kernel_of(int pass, const Group& group) const {
    const int axis = geometry_.order[static_cast<std::size_t>(pass)];
    const bool full = geometry_.first_pass_of(k_x) < pass;
    const auto index = static_cast<std::size_t>(axis);
    InterpolationPass<T> kernel;
    kernel.step = step_;
    kernel.inverse = T{1} / step_;
    kernel.bound = quantiser_.bound;
    kernel.weight = static_cast<T>(geometry_.feedback[index]) / T{16};
    kernel.fresh = true;
    kernel.cubic = geometry_.cubic[index];
    kernel.compact = axis != k_x && !full;
    kernel.n_coarse = (group.n + 1) / 2;
    kernel.n_targets = axis == k_x ? group.n / 2 : full ? group.n : kernel.n_coarse;
    kernel.n_original = group.n;
    return kernel;
}

/// A row as it will have been reconstructed, as far as rounding tells.
template <class T>
void RowSample<T>::lattice_row(const Group& group, const Extents& at, bool full, T* out) {
    const T* row = begin_of(group, at);
    const std::size_t n = full ? group.n : (group.n + 1) / 2;
    const std::size_t apart = std::size_t{full ? 1U : 2U} << level_;
    const bool coarse = !full && ((at[0] | at[1] | at[2]) & 1) == 0;
    sample_lattice(row, apart, n, coarse ? coarse_step_ : step_, out);
    if (!full) extend_row(out, n, (group.n & 1) != 0);
}

template <class T>
T* RowSample<T>::source(const Pass& pass, const Group& group, Extents at, bool near, T* out) {
    if (predicted_ && near && used_ + k_rows_for_one <= k_rows_in_use) {
        const T* row = predicted_row(group, at, pass.index, pass.full);
        const std::size_t n = pass.full ? group.n : (group.n + 1) / 2;
        if (pass.full) {
            std::copy_n(row, n, out);
        } else {
            std::copy_n(row - 1, n + 3, out - 1);
        }
        return out;
    }
    lattice_row(group, at, pass.full, out);
    return out;
}

/// The row with what the passes before `before` have made of it.
template <class T>
T* RowSample<T>::predicted_row(const Group& group, const Extents& at, int before, bool full) {
    for (const Known& one : known_) {
        if (one.before == before && one.at == at) return one.row;
    }
    int made_by = -1;
    for (std::size_t a = 0; a < 3; ++a) {
        if ((at[a] & 1) != 0) made_by = std::max(made_by, geometry_.position[a]);
    }
    const int x_pass = geometry_.first_pass_of(k_x);
    T* row = room();
    const bool late = full && x_pass > made_by;  // x is doubled in a finished row
    T* target = late ? room() : row;
    const bool compact = made_by < x_pass;
    if (made_by < 0) {
        lattice_row(group, at, false, target);
    } else {
        predict_row(group, at, made_by, !compact, target);
    }
    if (late) {
        InterpolationPass<T> kernel = kernel_of(x_pass, group);
        InterpolationRun<T> run;
        run.n_rows = 1;
        run.sources[0].below1 = target;
        run.original = originals(group, at, room());
        run.out = row;
        encode_x_pass(kernel, run, writer_, exact_);
    }
    known_.push_back({at, before, row});
    return row;
}

template <class T>
void RowSample<T>::predict_row(const Group& group, const Extents& at, int pass, bool full, T* out) {
    const auto axis = static_cast<std::size_t>(geometry_.order[static_cast<std::size_t>(pass)]);
    InterpolationPass<T> kernel = kernel_of(pass, group);
    InterpolationRun<T> run;
    run.n_rows = 1;
    std::array<T*, 4> rows{};
    const std::size_t i = at[axis];
    for (std::size_t k = 0; k < 4; ++k) {
        Extents of = at;
        of[axis] = i + 2 * k - 3;  // wraps below 0
        if (of[axis] >= extents_[axis]) continue;
        if (k == 1 || k == 2) {
            rows[k] = predicted_row(group, of, pass, full);
        } else if (kernel.cubic) {
            rows[k] = room();
            lattice_row(group, of, full, rows[k]);
        }
    }
    run.sources[0].below1 = rows[1];
    run.below3_begin = i >= 3 ? 0 : 1;
    run.above1_end = rows[2] != nullptr ? 1 : 0;
    run.above3_end = i + 3 < extents_[axis] ? 1 : 0;
    const auto from_below = [&](const T* row) { return row == nullptr ? 0 : row - rows[1]; };
    run.sources[0].below3 = from_below(rows[0]);
    run.sources[0].above1 = from_below(rows[2]);
    run.sources[0].above3 = from_below(rows[3]);
    run.original = originals(group, at, room());
    run.out = out;
    encode_line_pass(kernel, run, writer_, exact_);
}

/// Put the sources of a group's rows where the kernel looks for them.
template <class T>
void RowSample<T>::set_sources(const Pass& pass, const Group& group, InterpolationRun<T>& run) {
    const auto axis = static_cast<std::size_t>(pass.axis);
    InterpolationSources<T>& s = run.sources[0];
    s.step = stride_;
    const std::size_t spacing = pass.spacing[row_axis_];
    const auto take_rows = [&](Extents at, std::size_t n, std::size_t step, bool near) {
        T* const first = room(n);
        for (std::size_t r = 0; r < n; ++r, at[row_axis_] += step) {
            if (at[row_axis_] >= extents_[row_axis_]) break;
            source(pass, group, at, near, first + r * stride_);
        }
        return first;
    };
    if (axis == k_x) {
        T* const rows = room(group.n_rows);
        Extents at = group.at;
        for (std::size_t r = 0; r < group.n_rows; ++r) {
            at[row_axis_] = row_of(pass, group, r);
            source(pass, group, at, true, rows + r * stride_);
        }
        s.below1 = rows;
        return;
    }
    const std::size_t i = group.at[axis];
    const auto stride = static_cast<std::ptrdiff_t>(stride_);
    if (axis == row_axis_) {
        // They are the rows between, and one or two more on either side.
        const std::size_t below = i >= 3 ? 1 : 0;
        Extents at = group.at;
        at[axis] -= below == 1 ? 3 : 1;
        T* first = take_rows(at, group.n_rows + 2 + below, 2, true);
        s.below1 = first + below * stride_;
        s.below3 = -stride;
        s.above1 = stride;
        s.above3 = 2 * stride;
        const auto rows_with = [&](std::size_t distance) {
            const std::size_t n = extents_[axis];
            return n <= i + distance ? 0 : std::min(group.n_rows, (n - i - distance + 1) / 2);
        };
        run.below3_begin = below == 1 ? 0 : 1;
        run.above1_end = rows_with(1);
        run.above3_end = rows_with(3);
        return;
    }
    std::array<T*, 4> sets{};
    for (std::size_t k = 0; k < 4; ++k) {
        Extents at = group.at;
        at[axis] = i + 2 * k - 3;  // wraps below 0
        if (at[axis] >= extents_[axis]) continue;
        sets[k] = take_rows(at, group.n_rows, spacing, k == 1 || k == 2);
    }
    const auto from_below = [&](const T* set) { return set == nullptr ? 0 : set - sets[1]; };
    s.below1 = sets[1];
    s.below3 = from_below(sets[0]);
    s.above1 = from_below(sets[2]);
    s.above3 = from_below(sets[3]);
    run.below3_begin = sets[0] != nullptr ? 0 : group.n_rows;
    run.above1_end = sets[2] != nullptr ? group.n_rows : 0;
    run.above3_end = sets[3] != nullptr ? group.n_rows : 0;
}

/// The codes of a group's rows, in codes_.
template <class T>
void RowSample<T>::encode(const Pass& pass, const Group& group) {
    used_ = 0;
    known_.clear();
    InterpolationRun<T> run;
    set_sources(pass, group, run);
    run.n_rows = group.n_rows;
    if (level_ == 0 && !interleaves(pass)) {
        run.original = begin_of(group, group.at);
        run.original_step = pass.spacing[row_axis_] * geometry_.strides[row_axis_];
    } else {
        Extents at = group.at;
        T* const rows = room(group.n_rows);
        for (std::size_t r = 0; r < group.n_rows; ++r) {
            at[row_axis_] = row_of(pass, group, r);
            T* const row = rows + r * stride_;
            const T* const from = originals(group, at, row);
            if (from != row) std::copy_n(from, group.n, row);
        }
        run.original = rows;
        run.original_step = stride_;
    }
    // Codes and exact values of sources belong elsewhere.
    writer_.finish();
    codes_.clear();
    exact_.values.clear();
    InterpolationPass<T> kernel = kernel_of(pass.index, group);
    if (kernel.weight > 0) kernel.residuals = residuals_.data();
    if (pass.axis == k_x) {
        encode_x_pass(kernel, run, writer_, exact_);
    } else {
        encode_line_pass(kernel, run, writer_, exact_);
    }
    writer_.finish();
}

/// The codes of a group that count, one after the other, as a chunk would hold them.
/// @param stands_for  how many codes, times the cost's scale.
template <class T>
void RowSample<T>::add(const Group& group, double stands_for, CodeCost& cost) {
    const std::size_t row = codes_.size() / group.n_rows;
    const std::size_t first = group.warms_up ? 1 : 0;
    const std::size_t rows = group.n_rows - first;
    const auto weight = static_cast<std::uint64_t>(
        std::max(1.0, stands_for / static_cast<double>(rows * group.keep)));
    std::size_t used = 0;
    const auto flush = [&] {
        if (used > 0) cost.add(chunk_, used, weight);
        used = 0;
    };
    for (std::size_t r = first; r < group.n_rows; ++r) {
        const std::uint32_t* codes = codes_.data() + r * row + group.skip;
        for (std::size_t done = 0; done < group.keep;) {
            const std::size_t some = std::min(group.keep - done, k_chunk_values - used);
            std::copy_n(codes + done, some, chunk_ + used);
            used += some;
            done += some;
            if (used == k_chunk_values) flush();
        }
    }
    flush();
    // Some are of rows that do not count.
    cost.add_exact(
        exact_.values.size(), sizeof(T),
        static_cast<std::uint64_t>(std::max(1.0, stands_for / static_cast<double>(codes_.size()))));
}

/// The error of what is sampled is least when places follow the share of values, divided by the
/// square root of what a place costs: the rows it reads.
template <class T>
std::size_t RowSample<T>::groups_of(const Pass& pass, const Pass& last, std::size_t groups) const {
    const auto rows = [&](const Pass& one) {
        const auto axis = static_cast<std::size_t>(one.axis);
        return axis == k_x ? 1.0 : axis == row_axis_ ? 2.5 : 5.0;
    };
    const double share = static_cast<double>(pass.all_targets()) /
                         static_cast<double>(std::max<std::uint64_t>(last.all_targets(), 1));
    const double n = static_cast<double>(groups) * share * std::sqrt(rows(last) / rows(pass));
    return static_cast<std::size_t>(std::clamp(n + 0.5, 1.0, 4.0 * static_cast<double>(groups)));
}

template <class T>
void RowSample<T>::measure(int level, std::size_t groups, double scale, CodeCost& cost) {
    level_ = level;
    extents_ = geometry_.at_level(level);
    step_ = step_at_level(quantiser_.step, settings_, level);
    coarse_step_ = step_at_level(quantiser_.step, settings_, level + 1);
    const std::size_t longest = std::min(extents_[k_x], k_row_values + 2 * k_beside);
    stride_ = interpolation::round_up_row(longest + 3) + interpolation::k_line_values;
    memory_ = reinterpret_cast<T*>(scratch_.room((k_rows_in_use + 2) * stride_ * sizeof(T)));
    residuals_.resize(longest + interpolation::k_line_values);
    const Pass last = pass_of(geometry_.n_passes - 1);
    for (int p = 0; p < geometry_.n_passes; ++p) {
        const Pass pass = pass_of(p);
        const std::uint64_t all = pass.all_targets();
        if (all == 0) continue;
        const std::size_t n = groups_of(pass, last, groups);
        constexpr std::size_t k_ahead = 2;
        std::vector<Group> list(n);
        for (std::size_t i = 0; i < n; ++i) list[i] = group_of(pass, i, n);
        for (std::size_t i = 0; i < n + k_ahead; ++i) {
            if (i < n) ask(pass, list[i]);
            if (i < k_ahead) continue;
            const Group& group = list[i - k_ahead];
            encode(pass, group);
            add(group, scale * static_cast<double>(all) / static_cast<double>(n), cost);
        }
    }
}

template class RowSample<float>;
template class RowSample<double>;

}  // namespace caesura::codec
