#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "caesura/base.hpp"

namespace caesura {
namespace {

TEST(Shape, count_is_the_product_of_the_extents) {
    EXPECT_EQ(Shape({}).count(), 1u);
    EXPECT_EQ(Shape({3, 4, 5}).count(), 60u);
    EXPECT_EQ(to_string(Shape{3, 4}), "[3, 4]");
}

TEST(Box, boxes_that_only_touch_share_nothing) {
    EXPECT_FALSE(intersect({{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}).has_value());
    EXPECT_EQ(intersect({{0, 0}, {4, 4}}, {{2, 3}, {5, 5}}), (Box{{2, 3}, {2, 1}}));
}

TEST(DensePart, is_where_the_values_lie_together_and_nowhere_else) {
    const std::byte* const array = reinterpret_cast<const std::byte*>(std::uintptr_t{4096});
    const Box whole{{10, 20}, {6, 8}};
    EXPECT_EQ(dense_part(whole, whole, array, 4), array);
    EXPECT_EQ(dense_part({{13, 20}, {2, 8}}, whole, array, 4), array + 3 * 8 * 4);
    EXPECT_EQ(dense_part({{13, 20}, {2, 7}}, whole, array, 4), nullptr);
    EXPECT_EQ(dense_part({{13, 21}, {2, 7}}, whole, array, 4), nullptr);
    EXPECT_EQ(dense_part({{2}, {3}}, {{1}, {9}}, array, 8), array + 8);
}

// Goal: copy_box moves exactly the common part, whatever the rank and whichever axes are whole
// (whole axes take the joined-rows path). Reference: value by value through global coordinates.
TEST(CopyBox, equals_the_value_by_value_copy_on_random_boxes) {
    const unsigned seed = 20240611;
    RecordProperty("seed", static_cast<int>(seed));
    std::mt19937 random(seed);
    const auto upto = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 500; ++round) {
        const int rank = 1 + static_cast<int>(upto(4));
        Box part{Shape::filled(rank, 0), Shape::filled(rank, 0)};
        Box source = part, target = part;
        for (int axis = 0; axis < rank; ++axis) {
            part.offset[axis] = 2 + upto(3);
            part.extent[axis] = 1 + upto(4);
            for (Box* box : {&source, &target}) {
                const std::uint64_t before = upto(3), after = upto(3) * upto(2);
                box->offset[axis] = part.offset[axis] - before;
                box->extent[axis] = part.extent[axis] + before + after;
            }
        }
        std::vector<std::int32_t> from(source.extent.count()), to(target.extent.count(), -1);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i);
        copy_box(part, source, reinterpret_cast<const std::byte*>(from.data()), target,
                 reinterpret_cast<std::byte*>(to.data()), sizeof(std::int32_t));
        for (std::uint64_t i = 0; i < to.size(); ++i) {
            std::uint64_t rest = i, source_index = 0, stride = 1;
            bool inside = true;
            for (int axis = rank - 1; axis >= 0; --axis) {
                const std::uint64_t global = target.offset[axis] + rest % target.extent[axis];
                rest /= target.extent[axis];
                inside = inside && global >= part.offset[axis] &&
                         global < part.offset[axis] + part.extent[axis];
                source_index += (global - source.offset[axis]) * stride;
                stride *= source.extent[axis];
            }
            ASSERT_EQ(to[i], inside ? static_cast<std::int32_t>(source_index) : -1)
                << "round " << round << " value " << i;
        }
    }
}

}  // namespace
}  // namespace caesura
