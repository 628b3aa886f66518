#include "vol/selection.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "store/hdf5_handle.hpp"

namespace caesura::vol {
namespace {

/// Part of a run inside one row of the array.
struct Row {
    std::uint64_t begin = 0, length = 0;
    std::uint64_t at = 0;  ///< in the order of transfer
};

std::vector<Row> rows_of(std::uint64_t row_length, std::span<const Run> runs) {
    std::vector<Row> rows;
    rows.reserve(runs.size());
    std::uint64_t at = 0;
    for (const Run& run : runs)
        for (std::uint64_t done = 0; done < run.length;) {
            const std::uint64_t begin = run.begin + done;
            const std::uint64_t n = std::min(run.length - done, row_length - begin % row_length);
            rows.push_back({begin, n, at});
            at += n;
            done += n;
        }
    return rows;
}

Shape coordinates(const Shape& dims, std::uint64_t number) {
    Shape at = Shape::filled(dims.rank(), 0);
    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
        at[axis] = number % dims[axis];
        number /= dims[axis];
    }
    return at;
}

std::uint64_t number_of(const Shape& dims, const Shape& at) {
    std::uint64_t number = 0;
    for (int axis = 0; axis < dims.rank(); ++axis) number = number * dims[axis] + at[axis];
    return number;
}

Box box_of(const Shape& dims, const Row& row) {
    Box box{coordinates(dims, row.begin), Shape::filled(dims.rank(), 1)};
    box.extent[dims.rank() - 1] = row.length;
    return box;
}

/// Two boxes with the same key differ in nothing but where they begin along `axis`, and the one
/// begins where the other ends.
std::string key_at(const Box& box, int axis, std::uint64_t begin) {
    Shape offset = box.offset, extent = box.extent;
    offset[axis] = begin;
    extent[axis] = 0;
    std::string key(reinterpret_cast<const char*>(offset.data()), sizeof(std::uint64_t) * 4);
    key.append(reinterpret_cast<const char*>(extent.data()), sizeof(std::uint64_t) * 4);
    return key;
}

std::vector<Box> merge(const std::vector<Box>& boxes, int axis) {
    std::vector<Box> merged;
    std::unordered_map<std::string, std::size_t> open;  // by where each ends
    for (const Box& box : boxes) {
        const auto found = open.find(key_at(box, axis, box.offset[axis]));
        std::size_t index = merged.size();
        if (found == open.end()) {
            merged.push_back(box);
        } else {
            index = found->second;
            open.erase(found);
            merged[index].extent[axis] += box.extent[axis];
        }
        const Box& grown = merged[index];
        open.insert_or_assign(key_at(grown, axis, grown.offset[axis] + grown.extent[axis]), index);
    }
    return merged;
}

/// Calls `each(row, offset in the box's values)` for all rows of a box.
template <class Each>
void for_rows(const Shape& dims, const Box& box, Each&& each) {
    const int last = dims.rank() - 1;
    const std::uint64_t length = box.extent[last];
    Shape outer = box.extent;
    outer[last] = 1;
    const std::uint64_t n = outer.count();
    for (std::uint64_t i = 0; i < n; ++i) {
        Shape at = coordinates(outer, i);
        for (int axis = 0; axis < dims.rank(); ++axis) at[axis] += box.offset[axis];
        each(Row{number_of(dims, at), length, 0}, i * length);
    }
}

SelectedBoxes one_after_the_other(const std::vector<Box>& boxes, bool in_order) {
    SelectedBoxes selected{{}, in_order};
    selected.boxes.reserve(boxes.size());
    std::uint64_t at = 0;
    for (const Box& box : boxes) {
        selected.boxes.push_back({box, at});
        at += box.extent.count();
    }
    return selected;
}

}  // namespace

Result<std::vector<Run>> runs_of(hid_t space) {
    constexpr std::size_t k_at_once = 1024;
    std::vector<Run> runs;
    const hssize_t n = H5Sget_select_npoints(space);
    if (n < 0) return store::hdf5_error(StatusCode::internal, "counting a selection");
    if (n == 0) return runs;
    const store::Handle iterator(H5Ssel_iter_create(space, 1, 0), H5Ssel_iter_close);
    std::array<hsize_t, k_at_once> offsets{};
    std::array<std::size_t, k_at_once> lengths{};
    auto left = static_cast<std::uint64_t>(n);
    while (left > 0) {
        std::size_t found = 0, values = 0;
        if (!iterator.ok() || H5Ssel_iter_get_seq_list(iterator.get(), k_at_once, left, &found,
                                                       &values, offsets.data(), lengths.data()) < 0)
            return store::hdf5_error(StatusCode::internal, "going through a selection");
        if (values == 0) return Status{StatusCode::internal, "a selection ends early"};
        for (std::size_t i = 0; i < found; ++i) {
            if (!runs.empty() && runs.back().begin + runs.back().length == offsets[i])
                runs.back().length += lengths[i];
            else
                runs.push_back({offsets[i], lengths[i]});
        }
        left -= values;
    }
    return runs;
}

namespace {

/// One run of whole planes of the first axis: what most writes of a simulation are. Row by row it
/// would cost as much as copying the values.
std::optional<Box> slab_of(const Shape& dims, std::span<const Run> runs) {
    if (runs.size() != 1 || dims.rank() < 2 || dims[0] == 0) return std::nullopt;
    const std::uint64_t plane = dims.count() / dims[0];
    if (plane == 0 || runs[0].begin % plane != 0 || runs[0].length % plane != 0)
        return std::nullopt;
    Box slab{Shape::filled(dims.rank(), 0), dims};
    slab.offset[0] = runs[0].begin / plane;
    slab.extent[0] = runs[0].length / plane;
    return slab;
}

}  // namespace

SelectedBoxes boxes_of(const Shape& dims, std::span<const Run> runs) {
    if (const auto slab = slab_of(dims, runs)) return {{{*slab, 0}}, true};
    const auto rows = rows_of(dims[dims.rank() - 1], runs);
    std::vector<Box> boxes;
    boxes.reserve(rows.size());
    const auto by_begin = [](const Row& a, const Row& b) { return a.begin < b.begin; };
    std::vector<Row> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), by_begin);
    for (std::size_t i = 1; i < sorted.size(); ++i)
        if (sorted[i - 1].begin + sorted[i - 1].length > sorted[i].begin) {
            // A value named twice: as they come, so that the later one wins.
            for (const Row& row : rows) boxes.push_back(box_of(dims, row));
            return one_after_the_other(boxes, true);
        }
    for (const Row& row : sorted) boxes.push_back(box_of(dims, row));
    for (int axis = dims.rank() - 1; axis >= 0; --axis) boxes = merge(boxes, axis);
    const bool in_order = std::is_sorted(rows.begin(), rows.end(), by_begin);
    return one_after_the_other(boxes, in_order && boxes.size() <= 1);
}

void to_boxes(const Shape& dims, std::span<const Run> runs, const SelectedBoxes& selected,
              const std::byte* in_order, std::byte* in_boxes, std::size_t value_bytes) {
    auto rows = rows_of(dims[dims.rank() - 1], runs);
    const auto by_begin = [](const Row& a, const Row& b) { return a.begin < b.begin; };
    std::sort(rows.begin(), rows.end(), by_begin);
    for (const SelectedBox& one : selected.boxes)
        for_rows(dims, one.box, [&](const Row& row, std::uint64_t at) {
            // A box's row may have been put together from several.
            auto part = std::upper_bound(rows.begin(), rows.end(), row, by_begin) - 1;
            for (std::uint64_t done = 0; done < row.length; ++part) {
                const std::uint64_t skip = row.begin + done - part->begin;
                const std::uint64_t n = std::min(part->length - skip, row.length - done);
                std::memcpy(in_boxes + (one.at + at + done) * value_bytes,
                            in_order + (part->at + skip) * value_bytes, n * value_bytes);
                done += n;
            }
        });
}

namespace {

// Call `visit(at, place, n)` for each stretch of n values that the runs and the box have in common:
// the first one's number in the order of transfer, and its place inside the box.
template <class Visit>
void for_common(const Shape& dims, std::span<const Run> runs, const Box& box, Visit visit) {
    for (const Row& row : rows_of(dims[dims.rank() - 1], runs)) {
        const auto common = intersect(box_of(dims, row), box);
        if (!common) continue;
        Shape place = common->offset;
        const std::uint64_t at = row.at + number_of(dims, place) - row.begin;
        for (int axis = 0; axis < dims.rank(); ++axis) place[axis] -= box.offset[axis];
        visit(at, number_of(box.extent, place), common->extent[dims.rank() - 1]);
    }
}

}  // namespace

std::uint64_t take_from_box(const Shape& dims, std::span<const Run> runs, const Box& box,
                            const std::byte* values, std::byte* in_order, const ValueBytes& bytes) {
    std::uint64_t taken = 0;
    for_common(dims, runs, box, [&](std::uint64_t at, std::uint64_t place, std::uint64_t n) {
        taken += n;
        const std::byte* from = values + place * bytes.count;
        std::byte* to = in_order + at * bytes.all + bytes.begin;
        if (bytes.count == bytes.all) {
            std::memcpy(to, from, n * bytes.all);
            return;
        }
        for (; n > 0; --n, from += bytes.count, to += bytes.all) std::memcpy(to, from, bytes.count);
    });
    return taken;
}

void mark_in_box(const Shape& dims, std::span<const Run> runs, const Box& box,
                 std::span<char> marks) {
    for_common(dims, runs, box, [&](std::uint64_t at, std::uint64_t, std::uint64_t n) {
        std::memset(marks.data() + at, 1, n);
    });
}

}  // namespace caesura::vol
