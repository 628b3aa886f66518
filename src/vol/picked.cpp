// Picked: what is selected of an array, as boxes and copies from and to them.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "vol/selection.hpp"
#include "vol/strided_copy.hpp"

namespace caesura::vol {
namespace {

/// Two neighbouring axes as one, the inner of which has `extent`. nullopt: that is no comb.
std::optional<Comb> join(const Comb& outer, const Comb& inner, std::uint64_t extent) {
    if (inner.count == 1 && inner.start == 0 && inner.block == extent)
        return Comb{outer.start * extent, outer.stride * extent, outer.count, outer.block * extent}
            .simplest();
    if (outer.values() == 1)
        return Comb{outer.start * extent + inner.start, inner.stride, inner.count, inner.block};
    if (inner.count != 1) return std::nullopt;
    if (outer.block == 1)
        return Comb{outer.start * extent + inner.start, outer.stride * extent, outer.count,
                    inner.block}
            .simplest();
    if (outer.count != 1) return std::nullopt;
    return Comb{outer.start * extent + inner.start, extent, outer.block, inner.block}.simplest();
}

std::optional<std::vector<Comb>> join_axes(const std::vector<Comb>& combs,
                                           std::span<const std::uint64_t> native,
                                           std::span<const int> axes) {
    if (axes.size() == combs.size()) return combs;
    std::vector<Comb> joined;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        std::size_t axis = i == 0 ? 0 : static_cast<std::size_t>(axes[i]);
        const std::size_t end =
            i + 1 < axes.size() ? static_cast<std::size_t>(axes[i + 1]) : combs.size();
        std::optional<Comb> comb = combs[axis];
        while (comb && ++axis < end) comb = join(*comb, combs[axis], native[axis]);
        if (!comb) return std::nullopt;
        joined.push_back(*comb);
    }
    return joined;
}

/// Calls `each(begin, length)` for the values of combs along the last axis, in the order of
/// transfer. Numbers are those in an array of these extents.
template <class Each>
void for_runs(const std::vector<Comb>& combs, std::span<const std::uint64_t> dims, Each&& each) {
    const std::size_t last = combs.size() - 1;
    std::vector<std::uint64_t> at(combs.size(), 0);
    for (;;) {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < last; ++i) {
            const Comb& comb = combs[i];
            number = (number + comb.start + at[i] / comb.block * comb.stride + at[i] % comb.block) *
                     dims[i + 1];
        }
        for (std::uint64_t i = 0; i < combs[last].count; ++i)
            each(number + combs[last].start + i * combs[last].stride, combs[last].block);
        std::size_t axis = last;
        for (; axis > 0; --axis) {
            if (++at[axis - 1] < combs[axis - 1].values()) break;
            at[axis - 1] = 0;
        }
        if (axis == 0) return;
    }
}

/// Runs in an array of other extents, which has the same axes.
std::vector<Run> renumber(std::span<const Run> runs, std::span<const std::uint64_t> from,
                          std::span<const std::uint64_t> to) {
    if (std::equal(from.begin() + 1, from.end(), to.begin() + 1)) return {runs.begin(), runs.end()};
    std::vector<Run> renumbered;
    const std::uint64_t row = from.back();
    for (Run run : runs)
        while (run.length > 0) {
            const std::uint64_t n = std::min(run.length, row - run.begin % row);
            std::uint64_t rest = run.begin, number = 0, step = 1;
            for (std::size_t i = from.size(); i-- > 0; step *= to[i]) {
                number += rest % from[i] * step;
                rest /= from[i];
            }
            renumbered.push_back({number, n});
            run = {run.begin + n, run.length - n};
        }
    return renumbered;
}

Shape coordinates(const Shape& dims, std::uint64_t number) {
    Shape at = dims;
    for (int axis = dims.rank() - 1; axis > 0; --axis) {
        at[axis] = number % dims[axis];
        number /= dims[axis];
    }
    at[0] = number;
    return at;
}

std::uint64_t number_of(const Shape& dims, const Shape& at) {
    std::uint64_t number = 0;
    for (int axis = 0; axis < dims.rank(); ++axis) number = number * dims[axis] + at[axis];
    return number;
}

}  // namespace

Picked::Picked(const Selection& selection, std::span<const std::uint64_t> native, const Shape& dims,
               std::span<const int> axes)
    : dims_(dims), count_(selection.count) {
    if (count_ == 0) return;
    if (!selection.combs.empty()) {
        if (auto joined = join_axes(selection.combs, native, axes)) {
            combs_ = std::move(*joined);
            around_ = {Shape::filled(dims.rank(), 0), Shape::filled(dims.rank(), 0)};
            for (int axis = 0; axis < dims.rank(); ++axis) {
                const Comb& comb = combs_[static_cast<std::size_t>(axis)];
                around_.offset[axis] = comb.start;
                around_.extent[axis] = comb.end() - comb.start;
            }
            return;
        }
        std::vector<Run> runs;
        for_runs(selection.combs, native, [&](std::uint64_t begin, std::uint64_t length) {
            if (!runs.empty() && runs.back().begin + runs.back().length == begin)
                runs.back().length += length;
            else
                runs.push_back({begin, length});
        });
        set_rows(runs);
    } else {
        set_rows(renumber(selection.runs, selection.dims, native));
    }
}

void Picked::set_rows(std::span<const Run> runs) {
    const std::uint64_t row_length = dims_[dims_.rank() - 1];
    rows_.reserve(runs.size());
    std::uint64_t at = 0;
    for (const Run& run : runs)
        for (std::uint64_t done = 0; done < run.length;) {
            const std::uint64_t begin = run.begin + done;
            const std::uint64_t n = std::min(run.length - done, row_length - begin % row_length);
            rows_.push_back({begin, n, at});
            at += n;
            done += n;
        }
    const auto by_begin = [](const Row& a, const Row& b) { return a.begin < b.begin; };
    in_order_ = std::is_sorted(rows_.begin(), rows_.end(), by_begin);
    if (!in_order_) std::stable_sort(rows_.begin(), rows_.end(), by_begin);
    std::uint64_t end = 0;
    for (const Row& row : rows_) {
        repeats_ |= row.begin < end;
        end = std::max(end, row.begin + row.length);
    }
    // Planes of the first axis: to look closer would cost more than it saves.
    const std::uint64_t plane = dims_.count() / dims_[0];
    around_ = {Shape::filled(dims_.rank(), 0), dims_};
    around_.offset[0] = rows_.front().begin / plane;
    around_.extent[0] = (end - 1) / plane + 1 - around_.offset[0];
}

SelectedBoxes Picked::boxes() const {
    if (count_ == 0) return {{}, true};
    return combs_.empty() ? boxes_of_rows() : boxes_of_combs();
}

// Each block of the hyperslab is a box, in row-major order.
SelectedBoxes Picked::boxes_of_combs() const {
    const int rank = dims_.rank();
    SelectedBoxes selected{{}, true};
    Shape counts = dims_, blocks = dims_;
    for (int axis = 0; axis < rank; ++axis) {
        counts[axis] = combs_[static_cast<std::size_t>(axis)].count;
        blocks[axis] = combs_[static_cast<std::size_t>(axis)].block;
        if (counts[axis] == 1) continue;
        // Whatever is not one box leaves the order of transfer where an axis before is cut into
        // several values of a box.
        for (int before = 0; before < axis; ++before) selected.in_order &= blocks[before] == 1;
    }
    const std::uint64_t n = counts.count(), values = blocks.count();
    selected.boxes.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) {
        Box box{coordinates(counts, i), blocks};
        for (int axis = 0; axis < rank; ++axis) {
            const Comb& comb = combs_[static_cast<std::size_t>(axis)];
            box.offset[axis] = comb.start + box.offset[axis] * comb.stride;
        }
        selected.boxes.push_back({box, i * values});
    }
    return selected;
}

Box Picked::box_of(const Row& row) const {
    Box box{coordinates(dims_, row.begin), Shape::filled(dims_.rank(), 1)};
    box.extent[dims_.rank() - 1] = row.length;
    return box;
}

namespace {

/// Do the boxes differ in nothing but where they begin along `axis`, and in how long they are
/// there?
bool lie_alike(const Box& a, const Box& b, int axis) {
    for (int i = 0; i < a.offset.rank(); ++i)
        if (i != axis && (a.offset[i] != b.offset[i] || a.extent[i] != b.extent[i])) return false;
    return true;
}

/// Boxes in ascending order, of extent 1 along `axis` and those before it (but the last axis, along
/// which they are as they come): neighbours along it become one. In ascending order again.
/// @param of_row  is kept up.
std::vector<Box> merge(const std::vector<Box>& boxes, int axis,
                       std::vector<std::uint32_t>& of_row) {
    std::vector<Box> merged;
    merged.reserve(boxes.size());
    std::vector<std::uint32_t> into(boxes.size());
    // Of the slice before, and of this one: numbers in `merged`, ascending.
    std::vector<std::uint32_t> before, slice;
    std::size_t next = 0;  // in `before`
    const auto begins_slice = [&](const Box& box, const Box& last) {
        for (int i = 0; i <= axis; ++i)
            if (box.offset[i] != last.offset[i]) return true;
        return false;
    };
    const auto comes_before = [&](const Box& a, const Box& b) {
        for (int i = axis + 1; i < a.offset.rank(); ++i)
            if (a.offset[i] != b.offset[i]) return a.offset[i] < b.offset[i];
        return false;
    };
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const Box& box = boxes[i];
        if (i > 0 && begins_slice(box, boxes[i - 1])) {
            before.swap(slice);
            slice.clear();
            next = 0;
        }
        while (next < before.size() && comes_before(merged[before[next]], box)) ++next;
        auto number = static_cast<std::uint32_t>(merged.size());
        if (next < before.size() && lie_alike(merged[before[next]], box, axis) &&
            merged[before[next]].offset[axis] + merged[before[next]].extent[axis] ==
                box.offset[axis]) {
            number = before[next++];
            merged[number].extent[axis] += box.extent[axis];
        } else {
            merged.push_back(box);
        }
        slice.push_back(into[i] = number);
    }
    for (std::uint32_t& one : of_row) one = into[one];
    return merged;
}

/// The same along the last axis.
std::vector<Box> merge_rows(const std::vector<Box>& rows, std::vector<std::uint32_t>& of_row) {
    const int last = rows[0].offset.rank() - 1;
    std::vector<Box> merged;
    merged.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Box& row = rows[i];
        bool goes_on = !merged.empty() &&
                       merged.back().offset[last] + merged.back().extent[last] == row.offset[last];
        for (int axis = 0; goes_on && axis < last; ++axis)
            goes_on = merged.back().offset[axis] == row.offset[axis];
        if (goes_on)
            merged.back().extent[last] += row.extent[last];
        else
            merged.push_back(row);
        of_row[i] = static_cast<std::uint32_t>(merged.size() - 1);
    }
    return merged;
}

SelectedBoxes one_after_the_other(const std::vector<Box>& boxes) {
    SelectedBoxes selected;
    selected.boxes.reserve(boxes.size());
    std::uint64_t at = 0;
    for (const Box& box : boxes) {
        selected.boxes.push_back({box, at});
        at += box.extent.count();
    }
    return selected;
}

}  // namespace

SelectedBoxes Picked::boxes_of_rows() const {
    std::vector<Box> boxes;
    boxes.reserve(rows_.size());
    if (repeats_) {  // as they come, so that the later one wins
        std::vector<Row> rows = rows_;
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.at < b.at; });
        for (const Row& row : rows) boxes.push_back(box_of(row));
        SelectedBoxes selected = one_after_the_other(boxes);
        selected.in_order = true;
        return selected;
    }
    for (const Row& row : rows_) boxes.push_back(box_of(row));
    std::vector<std::uint32_t> of_row(rows_.size());
    boxes = merge_rows(boxes, of_row);
    for (int axis = dims_.rank() - 2; axis >= 0; --axis) boxes = merge(boxes, axis, of_row);
    SelectedBoxes selected = one_after_the_other(boxes);
    selected.in_order = in_order_ && std::is_sorted(of_row.begin(), of_row.end());
    selected.of_row = std::move(of_row);
    return selected;
}

namespace {

/// A part of a comb that a box holds: where it begins in the box and in what is selected along the
/// axis; blocks of one length.
struct Teeth {
    std::uint64_t place = 0, at = 0, count = 1, block = 0;
};

/// What a comb has between two numbers: a block that is cut, whole ones, a block that is cut.
std::vector<Teeth> teeth_in(const Comb& comb, std::uint64_t begin, std::uint64_t end) {
    std::vector<Teeth> teeth;
    if (begin >= comb.end() || end <= comb.start || begin >= end) return teeth;
    std::uint64_t i = begin <= comb.start ? 0 : (begin - comb.start) / comb.stride;
    const std::uint64_t last = std::min(comb.count - 1, (end - 1 - comb.start) / comb.stride);
    const auto cut = [&](std::uint64_t block) {
        const std::uint64_t first = comb.start + block * comb.stride;
        const std::uint64_t low = std::max(begin, first), high = std::min(end, first + comb.block);
        if (low < high)
            teeth.push_back({low - begin, block * comb.block + low - first, 1, high - low});
    };
    if (comb.start + i * comb.stride < begin || i == last) cut(i++);
    if (i > last) return teeth;
    const bool cuts_last = end < comb.start + last * comb.stride + comb.block;
    const std::uint64_t whole = last + 1 - i - (cuts_last ? 1 : 0);
    if (whole > 0)
        teeth.push_back({comb.start + i * comb.stride - begin, i * comb.block, whole, comb.block});
    if (cuts_last) cut(last);
    return teeth;
}

/// Values that a box and a selection have in common: where the first one lies in both, and loops
/// over them, whose steps are from value to value in the box and in the order of transfer.
struct Common {
    std::uint64_t place = 0, at = 0, count = 1;
    std::vector<Loop> loops;
    std::vector<Loop> times(std::size_t box_bytes, std::size_t order_bytes) const {
        std::vector<Loop> in_bytes;
        for (const Loop& loop : loops)
            in_bytes.push_back({loop.count, loop.from * box_bytes, loop.to * order_bytes});
        return in_bytes;
    }
    /// The other way round.
    std::vector<Loop> back(std::size_t order_bytes, std::size_t box_bytes) const {
        std::vector<Loop> in_bytes;
        for (const Loop& loop : loops)
            in_bytes.push_back({loop.count, loop.to * order_bytes, loop.from * box_bytes});
        return in_bytes;
    }
};

}  // namespace

// Calls `visit(common)` for the parts of the hyperslab in a box: one, unless it cuts blocks.
template <class Visit>
void Picked::for_common_combs(const Box& box, Visit&& visit) const {
    const int rank = dims_.rank();
    std::array<std::vector<Teeth>, k_max_rank> teeth;
    Shape counts = dims_;
    for (int axis = 0; axis < rank; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        teeth[i] = teeth_in(combs_[i], box.offset[axis], box.offset[axis] + box.extent[axis]);
        counts[axis] = teeth[i].size();
    }
    const std::uint64_t n = counts.count();
    for (std::uint64_t part = 0; part < n; ++part) {
        const Shape which = coordinates(counts, part);
        Common common;
        std::uint64_t in_box = 1, in_order = 1;
        for (int axis = rank - 1; axis >= 0; --axis) {
            const auto i = static_cast<std::size_t>(axis);
            const Teeth& one = teeth[i][which[axis]];
            common.place += one.place * in_box;
            common.at += one.at * in_order;
            common.count *= one.count * one.block;
            common.loops.push_back({one.block, in_box, in_order});
            common.loops.push_back(
                {one.count, combs_[i].stride * in_box, combs_[i].block * in_order});
            in_box *= box.extent[axis];
            in_order *= combs_[i].values();
        }
        std::reverse(common.loops.begin(), common.loops.end());
        visit(common);
    }
}

// Calls `visit(at, place, n)` for each stretch of n values that the rows and the box have in
// common.
template <class Visit>
void Picked::for_common_rows(const Box& box, Visit&& visit) const {
    const int last = dims_.rank() - 1;
    Shape end = box.offset;
    for (int axis = 0; axis <= last; ++axis) end[axis] += box.extent[axis] - 1;
    const std::uint64_t behind = number_of(dims_, end) + 1;
    const std::uint64_t begin = number_of(dims_, box.offset);
    // Rows lie apart unless values are named twice; a row that begins before the box may reach it.
    const std::uint64_t reach = begin - std::min(begin, dims_[last]);
    auto row = std::lower_bound(rows_.begin(), rows_.end(), reach,
                                [](const Row& a, std::uint64_t at) { return a.begin < at; });
    for (; row != rows_.end() && row->begin < behind; ++row) {
        const auto common = intersect(box_of(*row), box);
        if (!common) continue;
        Shape place = common->offset;
        const std::uint64_t at = row->at + number_of(dims_, place) - row->begin;
        for (int axis = 0; axis <= last; ++axis) place[axis] -= box.offset[axis];
        visit(at, number_of(box.extent, place), common->extent[last]);
    }
}

void Picked::to_boxes(const SelectedBoxes& boxes, const std::byte* in_order, std::byte* in_boxes,
                      std::size_t value_bytes) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const SelectedBox& one = boxes.boxes[boxes.of_row[i]];
        Shape place = coordinates(dims_, row.begin);
        for (int axis = 0; axis < dims_.rank(); ++axis) place[axis] -= one.box.offset[axis];
        std::memcpy(in_boxes + (one.at + number_of(one.box.extent, place)) * value_bytes,
                    in_order + row.at * value_bytes, row.length * value_bytes);
    }
    if (combs_.empty()) return;
    for (const SelectedBox& one : boxes.boxes)
        for_common_combs(one.box, [&](const Common& common) {
            copy_strided(common.back(value_bytes, value_bytes), in_order + common.at * value_bytes,
                         in_boxes + (one.at + common.place) * value_bytes, value_bytes);
        });
}

std::uint64_t Picked::take_from(const Box& box, const std::byte* values, std::byte* in_order,
                                const ValueBytes& bytes) const {
    std::uint64_t taken = 0;
    if (count_ == 0 || box.extent.count() == 0) return 0;
    if (!combs_.empty()) {
        for_common_combs(box, [&](const Common& common) {
            taken += common.count;
            copy_strided(common.times(bytes.count, bytes.all), values + common.place * bytes.count,
                         in_order + common.at * bytes.all + bytes.begin, bytes.count);
        });
        return taken;
    }
    for_common_rows(box, [&](std::uint64_t at, std::uint64_t place, std::uint64_t n) {
        taken += n;
        const std::byte* const from = values + place * bytes.count;
        std::byte* const to = in_order + at * bytes.all + bytes.begin;
        if (bytes.count == bytes.all)
            std::memcpy(to, from, n * bytes.all);
        else
            copy_strided({{n, bytes.count, bytes.all}}, from, to, bytes.count);
    });
    return taken;
}

bool Picked::touches(const Box& box) const {
    if (count_ == 0 || box.extent.count() == 0) return false;
    bool any = false;
    if (!combs_.empty())
        for_common_combs(box, [&](const Common&) { any = true; });
    else
        for_common_rows(box, [&](std::uint64_t, std::uint64_t, std::uint64_t) { any = true; });
    return any;
}

void Picked::mark(const Box& box, std::span<char> marks) const {
    if (count_ == 0 || box.extent.count() == 0) return;
    if (!combs_.empty()) {
        constexpr std::byte k_mark{1};
        for_common_combs(box, [&](const Common& common) {
            copy_strided(common.times(0, 1), &k_mark,
                         reinterpret_cast<std::byte*>(marks.data()) + common.at, 1);
        });
        return;
    }
    for_common_rows(box, [&](std::uint64_t at, std::uint64_t, std::uint64_t n) {
        std::memset(marks.data() + at, 1, n);
    });
}

}  // namespace caesura::vol
