// Goal: every value of a dataset is found in one array of the right component, however chunks are
// cut; ranges are those of the components.
#include "writer/composition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace caesura::writer {
namespace {

constexpr unsigned k_composition_seed = 2020;

std::vector<Component> named(std::size_t n) {
    std::vector<Component> components;
    for (std::size_t i = 0; i < n; ++i) components.push_back({std::to_string(i)});
    return components;
}

/// By brute force: of each value of the dataset its component and its index in its array.
struct Place {
    std::uint32_t component;
    std::uint64_t array, index;
};
std::vector<Place> places(const std::vector<Shape>& boxes, std::uint32_t components) {
    std::vector<Place> all;
    std::uint64_t array = 0;
    for (const Shape& box : boxes)
        for (std::uint32_t c = 0; c < components; ++c, ++array)
            for (std::uint64_t i = 0; i < box.count(); ++i) all.push_back({c, array, i});
    return all;
}

TEST(Composition, cuts_any_chunk_into_arrays_that_are_boxes_of_their_array) {
    std::mt19937 random(k_composition_seed);
    std::printf("seed %u\n", k_composition_seed);
    const std::vector<Shape> boxes = {{4, 5, 6}, {3, 7}, {11}, {2, 3, 4, 5}, {1, 1, 9}, {6, 5, 4}};
    const auto composition = Composition::arrays(named(3), boxes);
    const auto all = places(boxes, 3);
    ASSERT_EQ(composition->count(), all.size());
    for (int n = 0; n < 2000; ++n) {
        const std::uint64_t begin = random() % all.size();
        const std::uint64_t count = 1 + random() % (all.size() - begin);
        std::uint64_t at = begin;
        std::size_t of_this_array = 0;
        for (const auto& part : composition->parts({{begin}, {count}})) {
            const Place& first = all[at];
            of_this_array = at > begin && all[at - 1].array == first.array ? of_this_array + 1 : 1;
            ASSERT_LE(of_this_array, 7u);
            ASSERT_EQ(part.component, first.component);
            const std::uint64_t values = part.shape.count();
            ASSERT_LE(at + values, begin + count);
            ASSERT_EQ(all[at + values - 1].array, first.array);
            // A box of its array: its inner axes are whole, and it begins where such ones do.
            const std::uint64_t inner = part.shape.rank() == 1 ? 1 : values / part.shape[0];
            ASSERT_EQ(first.index % inner, 0u);
            at += values;
        }
        ASSERT_EQ(at, begin + count);
    }
}

TEST(Composition, leaves_whole_boxes_whole) {
    const auto composition = Composition::arrays(named(2), {{4, 5, 6}, {8, 8}});
    const auto parts = composition->parts({{0}, {composition->count()}});
    ASSERT_EQ(parts.size(), 4u);
    EXPECT_EQ(parts[0].shape, (Shape{4, 5, 6}));
    EXPECT_EQ(parts[3].shape, (Shape{8, 8}));
    EXPECT_EQ(parts[3].component, 1u);
}

TEST(Composition, says_where_the_array_of_a_box_and_component_lies) {
    const std::vector<Shape> boxes = {{4, 5, 6}, {3, 7}, {11}, {1, 1, 9}};
    const auto composition = Composition::arrays(named(3), boxes);
    const auto all = places(boxes, 3);
    for (std::size_t box = 0; box < boxes.size(); ++box)
        for (std::uint32_t component = 0; component < 3; ++component) {
            const auto array = composition->array_of(box, component);
            EXPECT_EQ(array.shape, boxes[box]);
            EXPECT_EQ(all[array.begin].component, component);
            EXPECT_EQ(all[array.begin].array, 3 * box + component);
            EXPECT_EQ(all[array.begin].index, 0u);
        }
}

// 100,000 boxes are 5 MB: not once for each dataset of each file that waits.
TEST(Composition, keeps_equal_lists_of_boxes_once) {
    const std::vector<Shape> boxes(100, Shape{8, 8, 8});
    const auto one = Composition::arrays(named(1), boxes),
               six = Composition::arrays(named(6), boxes);
    EXPECT_EQ(one->boxes().data(), six->boxes().data());
    EXPECT_EQ(one->count() * 6, six->count());
    auto others = boxes;
    others.back() = {8, 8, 16};
    EXPECT_NE(Composition::arrays(named(1), others)->boxes().data(), one->boxes().data());
    const std::weak_ptr<const BoxList> list = BoxList::of({{3, 5, 7}});
    EXPECT_TRUE(list.expired());
}

/// Component c of value i is 1000 c + something; NaN and infinity are no part of a range.
TEST(Composition, knows_the_range_of_each_component) {
    const std::vector<Shape> boxes = {{4, 6}, {3, 5}};
    const auto composition = Composition::arrays(named(2), boxes);
    std::vector<float> values;
    for (const Place& place : places(boxes, 2))
        values.push_back(1000.0f * static_cast<float>(place.component) +
                         static_cast<float>(place.index));
    values[1] = NAN;
    values[2] = INFINITY;
    std::vector<Composition::Range> ranges(2);
    const std::uint64_t begin = 3, count = values.size() - 4;  // a put of a part
    composition->widen({{begin}, {count}}, reinterpret_cast<const std::byte*>(&values[begin]),
                       float32, {}, ranges);
    EXPECT_EQ(ranges[0].min, 0.0);
    EXPECT_EQ(ranges[0].max, 23.0);
    EXPECT_EQ(ranges[1].min, 1000.0);
    EXPECT_EQ(ranges[1].max, 1023.0);
    composition->widen({{0}, {3}}, reinterpret_cast<const std::byte*>(values.data()), float32, {},
                       ranges);
    EXPECT_EQ(ranges[0].max, 23.0) << "NaN or infinity";
}

// Particles of three members in a grid of 4 x 5, as an axis more.
TEST(Composition, of_interleaved_members_has_all_of_them_in_each_block) {
    const auto composition = Composition::interleaved(named(3), 2);
    EXPECT_TRUE(composition->bundles());
    EXPECT_EQ(composition->axis_in_file(), -1);
    const auto parts = composition->parts({{2, 0, 0}, {2, 5, 3}});
    ASSERT_EQ(parts.size(), 3u);
    for (std::uint32_t c = 0; c < 3; ++c) {
        EXPECT_EQ(parts[c].shape, (Shape{2, 5}));
        EXPECT_EQ(parts[c].component, c);
        EXPECT_TRUE(parts[c].interleaved);
    }
    std::vector<float> values(4 * 5 * 3);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 1000.0f * static_cast<float>(i % 3) + static_cast<float>(i / 3);
    std::vector<Composition::Range> ranges(3);
    composition->widen({{0, 0, 0}, {4, 5, 3}}, reinterpret_cast<const std::byte*>(values.data()),
                       float32, {}, ranges);
    for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(ranges[c].min, 1000.0 * static_cast<double>(c));
        EXPECT_EQ(ranges[c].max, 1000.0 * static_cast<double>(c) + 19.0);
    }
    // A put of one member alone.
    composition->widen({{0, 0, 1}, {1, 2, 1}}, reinterpret_cast<const std::byte*>(values.data()),
                       float32, {}, ranges);
    EXPECT_EQ(ranges[1].min, 0.0);
    EXPECT_EQ(ranges[2].min, 2000.0);
}

template <class T>
Composition::Range range_of(const std::vector<T>& values, DType dtype) {
    Composition::Range range;
    widen_range(reinterpret_cast<const std::byte*>(values.data()), values.size(), dtype, range);
    return range;
}

TEST(Composition, range_of_integers_is_that_of_their_type) {
    const auto small = range_of<std::int8_t>({5, -128, 127}, DType::int8);
    EXPECT_EQ(small.min, -128.0);
    EXPECT_EQ(small.max, 127.0);
    const auto large = range_of<std::uint64_t>({std::uint64_t{1} << 63, 7}, DType::uint64);
    EXPECT_EQ(large.min, 7.0);
    EXPECT_EQ(large.max, 0x1p63);
    const auto none = range_of<std::int32_t>({}, DType::int32);
    EXPECT_GT(none.min, none.max);
}

TEST(Composition, along_an_axis_has_a_component_for_each_index) {
    for (const int axis : {0, 1, 2}) {
        const auto composition = Composition::along_axis(named(3), axis, axis);
        Shape dims{4, 5, 6};
        dims[axis] = 3;
        std::vector<double> values(dims.count());
        for (std::uint64_t i = 0; i < values.size(); ++i) {
            std::uint64_t inner = 1;
            for (int a = 2; a > axis; --a) inner *= dims[a];
            values[i] = 1000.0 * static_cast<double>(i / inner % 3) + static_cast<double>(i % 7);
        }
        std::vector<Composition::Range> ranges(3);
        composition->widen({{0, 0, 0}, dims}, reinterpret_cast<const std::byte*>(values.data()),
                           float64, {}, ranges);
        for (std::size_t c = 0; c < 3; ++c) {
            EXPECT_GE(ranges[c].min, 1000.0 * static_cast<double>(c)) << axis;
            EXPECT_LE(ranges[c].max, 1000.0 * static_cast<double>(c) + 6.0) << axis;
        }
        Box block{{0, 0, 0}, dims};
        block.offset[axis] = 2;
        block.extent[axis] = 1;
        const auto parts = composition->parts(block);
        ASSERT_EQ(parts.size(), 1u);
        EXPECT_EQ(parts[0].component, 2u);
        EXPECT_EQ(parts[0].shape, block.extent);
    }
}

}  // namespace
}  // namespace caesura::writer
