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

/// Boxes painted in their order hold what transferring the selection would leave.
void expect_same_as_hdf5(hid_t space, const Shape& dims) {
    const auto wanted_numbers = gathered(space, dims);
    auto runs = runs_of(space);
    ASSERT_TRUE(runs.ok()) << runs.status().message();
    std::vector<std::uint64_t> stream(wanted_numbers.size());
    std::vector<std::uint64_t> wanted(dims.count(), 0), painted(dims.count(), 0);
    for (std::size_t i = 0; i < stream.size(); ++i) {
        stream[i] = 1000 + i;
        wanted[wanted_numbers[i]] = stream[i];
    }
    const SelectedBoxes selected = boxes_of(dims, *runs);
    std::vector<std::uint64_t> dense = stream;
    const auto bytes = [](std::vector<std::uint64_t>& v) {
        return reinterpret_cast<std::byte*>(v.data());
    };
    if (!selected.in_order) to_boxes(dims, *runs, selected, bytes(stream), bytes(dense), 8);
    const Box whole{Shape::filled(dims.rank(), 0), dims};
    std::vector<std::uint64_t> again(stream.size(), 0);
    std::uint64_t taken = 0;
    for (const SelectedBox& one : selected.boxes) {
        copy_box(one.box, one.box, bytes(dense) + one.at * 8, whole, bytes(painted), 8);
        taken += take_from_box(dims, *runs, one.box, bytes(dense) + one.at * 8, bytes(again),
                               ValueBytes::whole(8));
    }
    EXPECT_EQ(painted, wanted);
    if (taken == stream.size()) {
        EXPECT_EQ(again, stream);
    }
}

TEST(Selection, a_block_is_one_box_in_order) {
    const Shape dims{6, 7, 8};
    const Handle space = space_of(dims);
    const hsize_t offset[3] = {1, 2, 3}, count[3] = {4, 3, 5};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset, nullptr, count, nullptr);
    const auto runs = runs_of(space.get());
    ASSERT_TRUE(runs.ok());
    const auto selected = boxes_of(dims, *runs);
    ASSERT_EQ(selected.boxes.size(), 1u);
    EXPECT_TRUE(selected.in_order);
    EXPECT_EQ(selected.boxes[0].box, (Box{{1, 2, 3}, {4, 3, 5}}));
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, all_and_nothing) {
    const Shape dims{5, 4};
    const Handle space = space_of(dims);
    expect_same_as_hdf5(space.get(), dims);
    EXPECT_EQ(boxes_of(dims, *runs_of(space.get())).boxes.size(), 1u);
    H5Sselect_none(space.get());
    EXPECT_TRUE(runs_of(space.get())->empty());
    EXPECT_TRUE(boxes_of(dims, {}).boxes.empty());
}

TEST(Selection, strided_blocks_are_a_box_each) {
    const Shape dims{20, 30};
    const Handle space = space_of(dims);
    const hsize_t offset[2] = {1, 2}, stride[2] = {5, 7}, count[2] = {3, 4}, block[2] = {2, 3};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset, stride, count, block);
    EXPECT_EQ(boxes_of(dims, *runs_of(space.get())).boxes.size(), 12u);
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, a_frame_is_four_boxes) {
    const Shape dims{40, 100};
    const Handle space = space_of(dims);
    const hsize_t inner[2] = {5, 15}, rows[2] = {30, 80};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_NOTB, inner, nullptr, rows, nullptr);
    EXPECT_EQ(boxes_of(dims, *runs_of(space.get())).boxes.size(), 4u);
    expect_same_as_hdf5(space.get(), dims);
}

TEST(Selection, a_point_named_twice_keeps_its_last_value) {
    const Shape dims{4, 4};
    const Handle space = space_of(dims);
    const hsize_t points[] = {1, 1, 3, 2, 1, 1, 1, 2};
    H5Sselect_elements(space.get(), H5S_SELECT_SET, 4, points);
    expect_same_as_hdf5(space.get(), dims);
}

/// Random unions and differences of hyperslabs, and random points, of one to four axes.
TEST(Selection, any_selection_is_what_hdf5_says_it_is) {
    const unsigned seed = 20260517;
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 400; ++round) {
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
            for (std::size_t step = 0; step < 1 + below(4); ++step) {
                std::vector<hsize_t> offset(rank), extent(rank);
                for (std::size_t axis = 0; axis < rank; ++axis) {
                    offset[axis] = below(dims[static_cast<int>(axis)]);
                    extent[axis] = 1 + below(dims[static_cast<int>(axis)] - offset[axis]);
                }
                const auto how = step == 0  ? H5S_SELECT_SET
                                 : below(2) ? H5S_SELECT_XOR
                                            : H5S_SELECT_OR;
                H5Sselect_hyperslab(space.get(), how, offset.data(), nullptr, extent.data(),
                                    nullptr);
            }
        }
        expect_same_as_hdf5(space.get(), dims);
    }
}

TEST(Selection, whole_planes_are_one_box_as_they_come) {
    const std::vector<vol::Run> runs = {vol::Run{32, 48}};
    const SelectedBoxes selected = boxes_of(Shape{8, 4, 4}, runs);
    ASSERT_EQ(selected.boxes.size(), 1u);
    EXPECT_EQ(selected.boxes[0].box, (Box{Shape{2, 0, 0}, Shape{3, 4, 4}}));
    EXPECT_EQ(selected.boxes[0].at, 0u);
    EXPECT_TRUE(selected.in_order);
}

}  // namespace
}  // namespace caesura::vol
