// Selections become boxes: each value once, at its place.
#include "vol/selection.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "store/hdf5_handle.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

Handle space_of(const Shape& dims) {
    std::array<hsize_t, k_max_rank> extent{};
    for (int axis = 0; axis < dims.rank(); ++axis)
        extent[static_cast<std::size_t>(axis)] = dims[axis];
    return {H5Screate_simple(dims.rank(), extent.data(), nullptr), H5Sclose};
}

/// The numbers of the selected values in the order of transfer, by HDF5 itself.
std::vector<std::uint64_t> gathered(hid_t space, const Shape& dims) {
    std::vector<std::uint64_t> all(dims.count()), selected;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    selected.resize(static_cast<std::size_t>(H5Sget_select_npoints(space)));
    if (!selected.empty()) {
        EXPECT_GE(H5Dgather(space, all.data(), H5T_NATIVE_UINT64, selected.size() * 8,
                            selected.data(), nullptr, nullptr),
                  0);
    }
    return selected;
}

Shape folded(const Shape& dims, std::span<const int> axes) {
    Shape joined = Shape::filled(static_cast<int>(axes.size()), 1);
    for (int axis = 0; axis < dims.rank(); ++axis) {
        int into = 0;
        while (into + 1 < joined.rank() && axes[static_cast<std::size_t>(into + 1)] <= axis) ++into;
        joined[into] *= dims[axis];
    }
    return joined;
}

std::vector<int> all_axes(const Shape& dims) {
    std::vector<int> axes;
    for (int axis = 0; axis < dims.rank(); ++axis) axes.push_back(axis);
    return axes;
}

Picked picked(hid_t space, const Shape& dims, std::span<const int> axes) {
    auto selection = selection_of(space);
    EXPECT_TRUE(selection.ok()) << selection.status().message();
    return Picked(*selection, {dims.data(), static_cast<std::size_t>(dims.rank())},
                  folded(dims, axes), axes);
}
Picked picked(hid_t space, const Shape& dims) { return picked(space, dims, all_axes(dims)); }

std::byte* bytes_of(std::vector<std::uint64_t>& v) {
    return reinterpret_cast<std::byte*>(v.data());
}

/// Boxes painted in their order hold what transferring the selection would leave; any box gives
/// back what it has of the selection.
void expect_same_as_hdf5(hid_t space, const Shape& native, std::span<const int> axes,
                         std::mt19937& random) {
    const Shape dims = folded(native, axes);
    const auto wanted_numbers = gathered(space, native);
    std::vector<std::uint64_t> stream(wanted_numbers.size());
    std::vector<std::uint64_t> wanted(dims.count(), 0), painted(dims.count(), 0);
    for (std::size_t i = 0; i < stream.size(); ++i) {
        stream[i] = 1000 + i;
        wanted[wanted_numbers[i]] = stream[i];
    }
    const Picked one = picked(space, native, axes);
    ASSERT_EQ(one.count(), stream.size());
    const SelectedBoxes selected = one.boxes();
    std::vector<std::uint64_t> dense = stream;
    if (!selected.in_order) one.to_boxes(selected, bytes_of(stream), bytes_of(dense), 8);
    const Box whole{Shape::filled(dims.rank(), 0), dims};
    std::vector<std::uint64_t> again(stream.size(), 0);
    for (const SelectedBox& box : selected.boxes)
        copy_box(box.box, box.box, bytes_of(dense) + box.at * 8, whole, bytes_of(painted), 8);
    EXPECT_EQ(painted, wanted);
    // A box of random place and size, as a piece that was written before.
    Box part{Shape::filled(dims.rank(), 0), dims};
    for (int axis = 0; axis < dims.rank(); ++axis) {
        part.offset[axis] = random() % dims[axis];
        part.extent[axis] = 1 + random() % (dims[axis] - part.offset[axis]);
    }
    std::vector<std::uint64_t> values(part.extent.count());
    copy_box(part, whole, bytes_of(wanted), part, bytes_of(values), 8);
    std::vector<char> marks(stream.size(), 0), inside(stream.size(), 0);
    std::uint64_t n = 0;
    std::vector<std::uint64_t> expected(stream.size(), 0);
    for (std::size_t i = 0; i < stream.size(); ++i) {
        std::uint64_t rest = wanted_numbers[i];
        bool in = true;
        for (int axis = dims.rank() - 1; axis >= 0; rest /= dims[axis], --axis)
            in &= rest % dims[axis] >= part.offset[axis] &&
                  rest % dims[axis] < part.offset[axis] + part.extent[axis];
        inside[i] = in ? 1 : 0;
        n += in ? 1 : 0;
        if (in) expected[i] = wanted[wanted_numbers[i]];
    }
    EXPECT_EQ(one.take_from(part, bytes_of(values), bytes_of(again), ValueBytes::whole(8)), n);
    EXPECT_EQ(again, expected);
    one.mark(part, marks);
    EXPECT_EQ(marks, inside);
    // The same selection of memory.
    const auto selection = selection_of(space);
    std::vector<std::uint64_t> memory(dims.count(), 0), order(stream.size(), 0);
    scatter_selected(*selection, bytes_of(stream), 8, bytes_of(memory));
    EXPECT_EQ(memory, wanted);
    gather_selected(*selection, bytes_of(memory), 8, bytes_of(order));
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], wanted[wanted_numbers[i]]);
}

void expect_same_as_hdf5(hid_t space, const Shape& dims) {
    std::mt19937 random(1);
    expect_same_as_hdf5(space, dims, all_axes(dims), random);
}

TEST(Selection, a_block_is_one_box_in_order) {
    const Shape dims{6, 7, 8};
    const Handle space = space_of(dims);
    const hsize_t offset[3] = {1, 2, 3}, count[3] = {4, 3, 5};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset, nullptr, count, nullptr);
    const auto selected = picked(space.get(), dims).boxes();
    ASSERT_EQ(selected.boxes.size(), 1u);
    EXPECT_TRUE(selected.in_order);
    EXPECT_EQ(selected.boxes[0].box, (Box{{1, 2, 3}, {4, 3, 5}}));
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, all_and_nothing) {
    const Shape dims{5, 4};
    const Handle space = space_of(dims);
    expect_same_as_hdf5(space.get(), dims);
    EXPECT_EQ(picked(space.get(), dims).boxes().boxes.size(), 1u);
    H5Sselect_none(space.get());
    EXPECT_EQ(picked(space.get(), dims).count(), 0u);
    EXPECT_TRUE(picked(space.get(), dims).boxes().boxes.empty());
}

TEST(Selection, strided_blocks_are_a_box_each) {
    const Shape dims{20, 30};
    const Handle space = space_of(dims);
    const hsize_t offset[2] = {1, 2}, stride[2] = {5, 7}, count[2] = {3, 4}, block[2] = {2, 3};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset, stride, count, block);
    EXPECT_EQ(picked(space.get(), dims).boxes().boxes.size(), 12u);
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, a_frame_is_four_boxes) {
    const Shape dims{40, 100};
    const Handle space = space_of(dims);
    const hsize_t inner[2] = {5, 15}, rows[2] = {30, 80};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_NOTB, inner, nullptr, rows, nullptr);
    EXPECT_EQ(picked(space.get(), dims).boxes().boxes.size(), 4u);
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, a_point_named_twice_keeps_its_last_value) {
    const Shape dims{4, 4};
    const Handle space = space_of(dims);
    const hsize_t points[] = {1, 1, 3, 2, 1, 1, 1, 2};
    H5Sselect_elements(space.get(), H5S_SELECT_SET, 4, points);
    expect_same_as_hdf5(space.get(), dims);
}

/// Some unions of HDF5's count more values than their blocks have (1.14.5): then the library itself
/// does not know what is selected.
bool is_sound(hid_t space, std::size_t rank) {
    if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS) return true;
    const hssize_t n = H5Sget_select_hyper_nblocks(space);
    std::vector<hsize_t> corners(2 * rank * static_cast<std::size_t>(n));
    H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(n), corners.data());
    hssize_t values = 0;
    for (auto at = corners.begin(); at != corners.end(); at += 2 * static_cast<long>(rank)) {
        hsize_t block = 1;
        for (std::size_t axis = 0; axis < rank; ++axis)
            block *= at[static_cast<long>(rank + axis)] - at[static_cast<long>(axis)] + 1;
        values += static_cast<hssize_t>(block);
    }
    return values == H5Sget_select_npoints(space);
}

/// Random selections of every kind, of one to four axes, and of the same with axes joined: regular
/// hyperslabs with strides, unions and differences, points, moved by an offset.
TEST(Selection, any_selection_is_what_hdf5_says_it_is) {
    const unsigned seed = 20260517;
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 5000; ++round) {
        SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
        Shape dims = Shape::filled(1 + static_cast<int>(below(4)), 1);
        for (int axis = 0; axis < dims.rank(); ++axis) dims[axis] = 1 + below(9);
        const Handle space = space_of(dims);
        const auto rank = static_cast<std::size_t>(dims.rank());
        if (round % 4 == 3) {
            std::vector<hsize_t> points;
            const std::size_t n = 1 + below(30);
            for (std::size_t i = 0; i < n; ++i)
                for (int axis = 0; axis < dims.rank(); ++axis) points.push_back(below(dims[axis]));
            H5Sselect_elements(space.get(), H5S_SELECT_SET, n, points.data());
        } else {
            const std::size_t steps = round % 4 == 2 ? 1 + below(4) : 1;
            for (std::size_t step = 0; step < steps; ++step) {
                std::vector<hsize_t> offset(rank), stride(rank), count(rank), block(rank);
                for (std::size_t axis = 0; axis < rank; ++axis) {
                    const std::uint64_t extent = dims[static_cast<int>(axis)];
                    offset[axis] = below(extent);
                    block[axis] = 1 + below(extent - offset[axis]);
                    if (below(2)) block[axis] = 1;
                    stride[axis] = block[axis] + below(3);
                    const std::uint64_t room = extent - offset[axis] - block[axis];
                    count[axis] = below(3) == 0 ? 1 : 1 + room / stride[axis];
                }
                const auto how = step == 0  ? H5S_SELECT_SET
                                 : below(2) ? H5S_SELECT_XOR
                                            : H5S_SELECT_OR;
                H5Sselect_hyperslab(space.get(), how, offset.data(), stride.data(), count.data(),
                                    block.data());
            }
        }
        if (!is_sound(space.get(), rank)) continue;
        std::vector<hsize_t> low(rank), high(rank);
        if (below(3) == 0 && H5Sget_select_npoints(space.get()) > 0) {
            H5Sget_select_bounds(space.get(), low.data(), high.data());
            std::vector<hssize_t> shift(rank);
            for (std::size_t axis = 0; axis < rank; ++axis)
                shift[axis] = static_cast<hssize_t>(
                                  below(low[axis] + dims[static_cast<int>(axis)] - high[axis])) -
                              static_cast<hssize_t>(low[axis]);
            H5Soffset_simple(space.get(), shift.data());
        }
        std::vector<int> axes{0};
        for (int axis = 1; axis < dims.rank(); ++axis)
            if (below(2)) axes.push_back(axis);
        expect_same_as_hdf5(space.get(), dims, all_axes(dims), random);
        expect_same_as_hdf5(space.get(), dims, axes, random);
        if (HasFailure()) return;
    }
}

TEST(Selection, whole_planes_are_one_box_as_they_come) {
    const Shape dims{8, 4, 4};
    const Handle space = space_of(dims);
    const hsize_t offset[3] = {2, 0, 0}, extent[3] = {3, 4, 4};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset, nullptr, extent, nullptr);
    const SelectedBoxes selected = picked(space.get(), dims).boxes();
    ASSERT_EQ(selected.boxes.size(), 1u);
    EXPECT_EQ(selected.boxes[0].box, (Box{Shape{2, 0, 0}, Shape{3, 4, 4}}));
    EXPECT_EQ(selected.boxes[0].at, 0u);
    EXPECT_TRUE(selected.in_order);
}

/// A dataspace from before the dataset grew, or after it shrank, names the same elements.
TEST(Selection, coordinates_count_where_extents_differ) {
    const Shape dims{6, 9}, older{5, 7};
    const Handle space = space_of(older);
    const hsize_t points[] = {4, 6, 0, 3, 2, 5};
    H5Sselect_elements(space.get(), H5S_SELECT_SET, 3, points);
    const auto selection = selection_of(space.get());
    ASSERT_TRUE(selection.ok());
    const std::vector<int> axes{0, 1};
    const SelectedBoxes selected = Picked(*selection, {dims.data(), 2}, dims, axes).boxes();
    ASSERT_EQ(selected.boxes.size(), 3u);
    EXPECT_EQ(selected.boxes[0].box, (Box{{0, 3}, {1, 1}}));
    EXPECT_EQ(selected.boxes[1].box, (Box{{2, 5}, {1, 1}}));
    EXPECT_EQ(selected.boxes[2].box, (Box{{4, 6}, {1, 1}}));
}

/// HDF5 1.14.5 makes such a union of these two, which overlap. A version that does it right has all
/// of its elements inside.
TEST(Selection, a_union_that_hdf5_leads_beyond_the_extent_is_refused) {
    const Shape dims{36, 21};
    const Handle space = space_of(dims);
    const hsize_t one_begin[] = {19, 12}, one_extent[] = {2, 5};
    const hsize_t begin[] = {7, 12}, stride[] = {3, 1}, count[] = {10, 5}, block[] = {2, 1};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, one_begin, nullptr, one_extent, nullptr);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_OR, begin, stride, count, block);
    const auto selection = selection_of(space.get());
    if (selection.ok()) {
        hsize_t low[2], high[2];
        H5Sget_select_bounds(space.get(), low, high);
        EXPECT_EQ(high[0], 35u);
        return;
    }
    EXPECT_EQ(selection.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(selection.status().message().find("beyond its extent"), std::string::npos);
}

}  // namespace
}  // namespace caesura::vol
