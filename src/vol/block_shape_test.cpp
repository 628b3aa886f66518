// Chunks of datasets that become blocks.
#include "vol/block_shape.hpp"

#include <gtest/gtest.h>

#include <array>

namespace caesura::vol {
namespace {

constexpr std::uint64_t k_mib = 1u << 20;

TEST(BlockShape, equal_slabs_of_ranks_are_never_straddled) {
    const Shape chunk = block_shape({{512, 256, 256}, {512, 256, 256}, {}, 8, 8 * k_mib, 4});
    EXPECT_EQ(chunk, (Shape{16, 256, 256}));  // 8 MiB; 128 planes of each rank are 8 of them
}

TEST(BlockShape, a_small_dataset_is_one_chunk_a_rank) {
    EXPECT_EQ(block_shape({{100, 30}, {100, 30}, {}, 8, 8 * k_mib, 4}), (Shape{25, 30}));
    EXPECT_EQ(block_shape({{3}, {3}, {}, 8, 8 * k_mib, 4}), (Shape{1}));
}

TEST(BlockShape, long_planes_are_cut_too) {
    const Shape chunk = block_shape({{2, 4096, 4096}, {2, 4096, 4096}, {}, 8, 8 * k_mib, 2});
    EXPECT_EQ(chunk, (Shape{1, 256, 4096}));
}

TEST(BlockShape, the_applications_chunk_is_kept_if_it_has_a_sensible_size) {
    const Shape dims{1024, 1024, 64};
    EXPECT_EQ(block_shape({dims, dims, {64, 64, 64}, 8, 8 * k_mib, 4}), (Shape{64, 64, 64}));
    EXPECT_EQ(block_shape({dims, dims, {16, 64, 1}, 8, 8192, 4}), (Shape{16, 64, 1}));
}

TEST(BlockShape, small_chunks_are_merged_but_not_along_an_axis_that_grows) {
    const Shape dims{1, 1024, 1024};
    EXPECT_EQ(block_shape({dims, {~0ull, 1024, 1024}, {1, 16, 64}, 8, 4 * k_mib, 4}),
              (Shape{1, 512, 1024}));
    EXPECT_EQ(block_shape({{64, 64}, {64, 64}, {16, 16}, 8, 4 * k_mib, 4}), (Shape{64, 64}));
}

TEST(BlockShape, large_chunks_are_cut) {
    const Shape dims{512, 512, 512};
    EXPECT_EQ(block_shape({dims, dims, dims, 8, 8 * k_mib, 1}), (Shape{8, 512, 512}));
}

TEST(BlockShape, the_configuration_goes_before_the_application_and_that_before_the_past) {
    const Shape dims{256, 256, 256};
    ShapeFacts facts{dims, dims, {}, 8, 8 * k_mib, 4};
    facts.learned = {128, 64, 128};
    EXPECT_EQ(block_shape(facts), (Shape{128, 64, 128}));
    facts.chunk = {64, 64, 64};
    EXPECT_EQ(block_shape(facts), (Shape{64, 64, 64}));
    facts.wanted = {32, 512, 256};
    EXPECT_EQ(block_shape(facts), (Shape{32, 256, 256}));
    facts.wanted = {32, 32};  // a rule that also matches datasets of other ranks
    EXPECT_EQ(block_shape(facts), (Shape{64, 64, 64}));
}

TEST(BoxedShape, a_chunk_is_a_whole_array) {
    const auto boxed = boxed_shape(24 * 64 * 64 * 64, {64, 64, 64}, 8, 8 * k_mib);
    ASSERT_TRUE(boxed);
    EXPECT_EQ(boxed->dims, (Shape{24 * 64, 64, 64}));
    EXPECT_EQ(boxed->chunk, (Shape{64, 64, 64}));
}

TEST(BoxedShape, small_arrays_are_stacked_and_large_ones_cut) {
    const auto small = boxed_shape(60 * 16 * 16 * 16, {16, 16, 16}, 8, 8 * k_mib);
    ASSERT_TRUE(small);
    EXPECT_EQ(small->chunk, (Shape{10 * 16, 16, 16}));  // 8 were enough; 10 divides 60
    const auto large = boxed_shape(2 * 256 * 256 * 256, {256, 256, 256}, 8, 8 * k_mib);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->chunk, (Shape{32, 256, 256}));
    const auto few = boxed_shape(2 * 4 * 4, {4, 4}, 8, 8 * k_mib);
    ASSERT_TRUE(few);
    EXPECT_EQ(few->chunk, (Shape{8, 4}));
}

TEST(BoxedShape, what_does_not_fit_is_left_alone) {
    EXPECT_FALSE(boxed_shape(1000, {64, 64, 64}, 8, 8 * k_mib));
    EXPECT_FALSE(boxed_shape(1000, {10}, 8, 8 * k_mib));
    EXPECT_FALSE(boxed_shape(1000, {}, 8, 8 * k_mib));
    EXPECT_FALSE(boxed_shape(0, {10, 10}, 8, 8 * k_mib));
}

/// Corners of boxes of these extents, fastest axis first.
std::vector<std::int32_t> corners_of(const std::vector<std::array<std::int32_t, 3>>& extents) {
    std::vector<std::int32_t> corners;
    std::int32_t low = -5;
    for (const auto& box : extents) {
        corners.insert(corners.end(), {low, low, low});
        for (const std::int32_t extent : box) corners.push_back(low + extent - 1);
        low += 7;
    }
    return corners;
}

TEST(CommonBox, boxes_of_one_size_are_that_in_c_order) {
    EXPECT_EQ(common_box(corners_of({{8, 16, 32}, {8, 16, 32}}), 3, 3 * 2 * 8 * 16 * 32),
              (Shape{32, 16, 8}));
}

TEST(CommonBox, boxes_that_agree_on_fast_axes_are_slices) {
    EXPECT_EQ(common_box(corners_of({{8, 16, 24}, {8, 16, 32}}), 3, 8 * 16 * 56),
              (Shape{8, 16, 8}));
    EXPECT_EQ(common_box(corners_of({{8, 12, 2}, {8, 18, 1}}), 3, 2 * 8 * (24 + 18)),
              (Shape{6, 8}));
}

TEST(CommonBox, nothing_in_common_or_other_numbers_of_values_are_no_box) {
    EXPECT_EQ(common_box(corners_of({{8, 16, 24}, {16, 16, 24}}), 3, 24 * 16 * 24), Shape{});
    EXPECT_EQ(common_box(corners_of({{8, 8, 8}}), 3, 700), Shape{});
    EXPECT_EQ(common_box(corners_of({{8, 8, 0}}), 3, 512), Shape{});
    EXPECT_EQ(common_box({}, 3, 512), Shape{});
    EXPECT_EQ(common_box(std::vector<std::int32_t>(5), 3, 512), Shape{});
}

}  // namespace
}  // namespace caesura::vol
