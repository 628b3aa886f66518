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
    EXPECT_EQ(block_shape({{100, 300}, {100, 300}, {}, 8, 8 * k_mib, 4}), (Shape{25, 300}));
}

TEST(BlockShape, tiny_shares_of_ranks_go_together) {
    // 6 kB each: three of them are 16 KiB.
    EXPECT_EQ(block_shape({{100, 30}, {100, 30}, {}, 8, 8 * k_mib, 4}), (Shape{75, 30}));
    EXPECT_EQ(block_shape({{3}, {3}, {}, 8, 8 * k_mib, 4}), (Shape{3}));
    EXPECT_EQ(block_shape({{1 << 14}, {1 << 14}, {}, 8, 8 * k_mib, 1024}), (Shape{2048}));
    EXPECT_EQ(block_shape({{100, 30}, {100, 30}, {}, 8, 8192, 4}), (Shape{25, 30}));
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

std::vector<Shape> boxes_of(std::size_t n, const Shape& box) { return std::vector<Shape>(n, box); }

TEST(SequenceChunk, of_equal_arrays_is_one_of_them_or_several_small_ones_or_slices) {
    const auto chunk = [](const std::vector<Shape>& boxes, std::uint64_t components) {
        return sequence_chunk(boxes, components, 8, 8 * k_mib, 4);
    };
    EXPECT_EQ(chunk(boxes_of(8, {64, 64, 64}), 3), 64u * 64 * 64);
    EXPECT_EQ(chunk(boxes_of(20, {16, 16, 16}), 3), 10u * 16 * 16 * 16);  // 8 do; 10 divides 60
    EXPECT_EQ(chunk(boxes_of(2, {256, 256, 256}), 1), 32u * 256 * 256);
    EXPECT_EQ(chunk(boxes_of(2, {4, 4}), 1), 32u);  // all there is
    EXPECT_EQ(chunk({}, 1), 1u);
}

// 64^3 cut with a largest extent of 24: boxes of 16, 24 and 24 along each axis.
TEST(SequenceChunk, of_unequal_arrays_is_near_the_aim_where_few_are_cut) {
    std::vector<Shape> boxes;
    std::uint64_t cells = 0;
    for (const std::uint64_t z : {24, 24, 16})
        for (const std::uint64_t y : {24, 24, 16})
            for (const std::uint64_t x : {24, 24, 16}) {
                boxes.push_back({z, y, x});
                cells += boxes.back().count();
            }
    ASSERT_EQ(cells, 64u * 64 * 64);
    const std::uint64_t total = 6 * cells;
    const std::uint64_t chunk = sequence_chunk(boxes, 6, 8, 8 * k_mib, 2);
    EXPECT_GE(chunk * 8, total * 8 / 8);  // half of a quarter of it
    EXPECT_LE(chunk * 8, 3 * total * 8 / 8);
    std::vector<std::uint64_t> begins;
    std::uint64_t at = 0;
    for (const Shape& box : boxes)
        for (int c = 0; c < 6; ++c, at += box.count()) begins.push_back(at);
    EXPECT_TRUE(std::binary_search(begins.begin(), begins.end(), chunk)) << chunk;
    EXPECT_EQ(sequence_chunk(std::vector<Shape>{{24, 24}, {8, 24}}, 6, 8, 8 * k_mib, 1),
              6u * 24 * 32)
        << "all there is";
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

TEST(ShapesOf, boxes_are_in_c_order_and_what_is_no_box_is_none) {
    EXPECT_EQ(shapes_of(corners_of({{8, 16, 32}, {1, 2, 3}}), 3, 8 * 16 * 32),
              (std::vector<Shape>{{32, 16, 8}, {3, 2, 1}}));
    EXPECT_TRUE(shapes_of(corners_of({{8, 8, 8}, {8, 8, 0}}), 3, 512).empty());
    EXPECT_TRUE(shapes_of({}, 3, 512).empty());
    EXPECT_TRUE(shapes_of(corners_of({{8, 8, 8}}), 3, 511).empty()) << "larger than the data";
    EXPECT_TRUE(shapes_of(std::vector<std::int32_t>(5), 3, 512).empty());
}

}  // namespace
}  // namespace caesura::vol
