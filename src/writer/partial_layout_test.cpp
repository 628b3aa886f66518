// Goal: chunks follow the boxes of a level, and boxes of one chunk size stay on their ranks.
#include "writer/partial_layout.hpp"

#include <gtest/gtest.h>

#include <random>

namespace caesura::writer {
namespace {

constexpr std::uint64_t k_chunk_target_bytes = 8u << 20;

TEST(PartialLayout, boxes_of_one_size_are_chunks_that_stay_on_their_ranks) {
    std::vector<RankBox> boxes;
    for (std::uint32_t i = 0; i < 5; ++i)
        boxes.push_back(
            {static_cast<int>(i % 3), i / 3, {{32 * i, 64, 32 * (i % 2)}, {32, 32, 32}}});
    for (int rank = 0; rank < 3; ++rank) {
        const auto layout =
            make_partial_layout("rho", {256, 256, 256}, boxes, 8, k_chunk_target_bytes, rank);
        ASSERT_TRUE(layout.ok()) << layout.status().message();
        EXPECT_EQ(layout->chunk, (Shape{32, 32, 32}));
        EXPECT_FALSE(layout->any_moves);
        EXPECT_EQ(layout->n_touched, 5u);
        for (const OwnedChunk& chunk : layout->mine) EXPECT_TRUE(chunk.covered);
    }
}

TEST(PartialLayout, small_boxes_share_chunks_that_are_nearly_cubes) {
    const std::vector<RankBox> boxes = {{0, 0, {{8, 8, 8}, {8, 8, 16}}},
                                        {0, 1, {{40, 8, 0}, {8, 24, 8}}}};
    const Shape chunk = choose_partial_chunk({512, 512, 512}, boxes, 8, k_chunk_target_bytes);
    for (int axis = 0; axis < 3; ++axis) {
        EXPECT_EQ(chunk[axis] % 8, 0u);
        EXPECT_GE(chunk[axis], 64u);
        EXPECT_LE(chunk[axis], 128u);
    }
    EXPECT_LE(chunk.count() * 8, k_chunk_target_bytes);
}

TEST(PartialLayout, chunks_are_never_larger_than_asked_for_or_than_the_field) {
    std::mt19937 random(22);
    for (int round = 0; round < 300; ++round) {
        const Shape dims{1 + random() % 300, 1 + random() % 300, 1 + random() % 300};
        Box box{{0, 0, 0}, dims};
        for (int axis = 0; axis < 3; ++axis) {
            box.offset[axis] = random() % dims[axis];
            box.extent[axis] = 1 + random() % (dims[axis] - box.offset[axis]);
        }
        const std::vector<RankBox> boxes = {{0, 0, box}};
        const Shape chunk = choose_partial_chunk(dims, boxes, 4, 1u << 20);
        EXPECT_LE(chunk.count() * 4, (1u << 20) * 3 / 2) << to_string(dims) << to_string(box);
        for (int axis = 0; axis < 3; ++axis) {
            EXPECT_GE(chunk[axis], 1u);
            EXPECT_LE(chunk[axis], dims[axis]);
        }
    }
}

std::uint64_t values_of(const std::vector<Box>& boxes) {
    std::uint64_t n = 0;
    for (const Box& box : boxes) n += box.extent.count();
    return n;
}

TEST(PartialLayout, boxes_that_tile_a_box_are_joined_to_it) {
    std::vector<Box> boxes;
    for (std::uint64_t z = 0; z < 3; ++z)
        for (std::uint64_t y = 0; y < 4; ++y)
            for (std::uint64_t x = 0; x < 5; ++x)
                boxes.push_back({{10 + 2 * z, 3 * y, 4 * x}, {2, 3, 4}});
    std::shuffle(boxes.begin(), boxes.end(), std::mt19937(7));
    EXPECT_EQ(joined(boxes), (std::vector<Box>{{{10, 0, 0}, {6, 12, 20}}}));
    boxes.erase(boxes.begin() + 17);
    const auto fewer = joined(boxes);
    EXPECT_GT(fewer.size(), 1u);
    EXPECT_LT(fewer.size(), boxes.size());
    EXPECT_EQ(values_of(fewer), values_of(boxes));
    for (std::size_t i = 0; i < fewer.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(intersect(fewer[i], fewer[j]));
}

}  // namespace
}  // namespace caesura::writer
