#include "writer/layout.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace caesura::writer {
namespace {

std::vector<RankBox> slabs(std::initializer_list<std::uint64_t> extents, Shape rest) {
    std::vector<RankBox> boxes;
    std::uint64_t offset = 0;
    for (const std::uint64_t extent : extents) {
        Box box{Shape::filled(rest.rank(), 0), rest};
        box.offset[0] = offset;
        box.extent[0] = extent;
        boxes.push_back({static_cast<int>(boxes.size()), 0, box});
        offset += extent;
    }
    return boxes;
}

constexpr std::uint64_t k_target = 8u << 20;

TEST(ChooseChunk, slices_two_slabs_of_256_cubed_into_128_cubed) {
    const auto boxes = slabs({128, 128}, {256, 256, 256});
    EXPECT_EQ(choose_chunk({256, 256, 256}, boxes, 4, k_target), (Shape{128, 128, 128}));
}

TEST(ChooseChunk, uneven_slabs_get_chunks_like_the_largest_box) {
    const auto boxes = slabs({34, 33, 33}, {100, 100, 100});
    EXPECT_EQ(choose_chunk({100, 100, 100}, boxes, 4, k_target), (Shape{34, 100, 100}));
}

TEST(ChooseChunk, small_boxes_share_a_chunk) {
    std::vector<RankBox> boxes;
    for (int r = 0; r < 64; ++r)
        boxes.push_back({r, 0, {{static_cast<std::uint64_t>(r) * 1000}, {1000}}});
    EXPECT_EQ(choose_chunk({64000}, boxes, 8, k_target), (Shape{64000}));
}

TEST(ChooseChunk, never_exceeds_the_array) {
    const auto boxes = slabs({3, 4}, {7, 5});
    const Shape chunk = choose_chunk({7, 5}, boxes, 4, k_target);
    EXPECT_LE(chunk[0], 7u);
    EXPECT_LE(chunk[1], 5u);
}

// Cut the array recursively at random into boxes given to random ranks.
void cut(const Box& box, int rank_count, int depth, std::mt19937& random,
         std::vector<RankBox>& boxes, std::vector<std::uint32_t>& puts) {
    const int axis = static_cast<int>(random() % static_cast<unsigned>(box.offset.rank()));
    if (depth == 0 || box.extent[axis] < 2) {
        const int rank = static_cast<int>(random() % static_cast<unsigned>(rank_count));
        boxes.push_back({rank, puts[static_cast<std::size_t>(rank)]++, box});
        return;
    }
    const std::uint64_t at = 1 + random() % (box.extent[axis] - 1);
    Box low = box, high = box;
    low.extent[axis] = at;
    high.offset[axis] += at;
    high.extent[axis] -= at;
    cut(low, rank_count, depth - 1, random, boxes, puts);
    cut(high, rank_count, depth - 1, random, boxes, puts);
}

// Goal: over all ranks, every value of the array lies in exactly one piece of exactly one owned
// chunk, and sender and receiver agree on every move, for random decompositions.
TEST(Layout, every_value_has_one_owner_and_moves_match_on_random_decompositions) {
    const unsigned seed = 7;
    RecordProperty("seed", static_cast<int>(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
        const int axes = 1 + static_cast<int>(random() % 4);
        Shape dims = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) dims[axis] = 1 + random() % 13;
        const int ranks = 1 + static_cast<int>(random() % 4);
        std::vector<RankBox> boxes;
        std::vector<std::uint32_t> puts(static_cast<std::size_t>(ranks), 0);
        cut({Shape::filled(axes, 0), dims}, ranks, 4, random, boxes, puts);
        std::vector<Layout> layouts;
        for (int r = 0; r < ranks; ++r) {
            auto layout = make_layout("f", dims, boxes, 4, 256, r);
            ASSERT_TRUE(layout.ok()) << layout.status().message();
            layouts.push_back(*layout);
        }
        std::uint64_t covered = 0;
        std::set<std::uint64_t> owned;
        for (const Layout& layout : layouts)
            for (const OwnedChunk& chunk : layout.mine) {
                EXPECT_TRUE(owned.insert(chunk.chunk).second);
                std::uint64_t values = 0;
                for (const LayoutPiece& piece : chunk.pieces) values += piece.part.extent.count();
                EXPECT_EQ(values, chunk.valid.count());
                covered += values;
            }
        EXPECT_EQ(owned.size(), layouts[0].n_chunks);
        EXPECT_EQ(covered, dims.count());
        for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to) {
                const auto between = [&](const Layout& layout) {
                    std::vector<Box> parts;
                    for (const Move& move : layout.moves)
                        if (move.from == from && move.to == to) parts.push_back(move.piece.part);
                    return parts;
                };
                EXPECT_EQ(between(layouts[static_cast<std::size_t>(from)]),
                          between(layouts[static_cast<std::size_t>(to)]));
            }
    }
}

TEST(Layout, names_the_ranks_that_overlap) {
    auto boxes = slabs({5, 5}, {10, 4});
    boxes[1].box.offset[0] = 4;
    boxes.push_back({2, 0, {{9, 0}, {1, 4}}});
    const auto layout = make_layout("rho", {10, 4}, boxes, 4, k_target, 0);
    ASSERT_FALSE(layout.ok());
    EXPECT_NE(layout.status().message().find("'rho': ranks 0 and 1 both put offset [4, 0]"),
              std::string::npos)
        << layout.status().message();
}

TEST(Layout, says_how_much_is_missing) {
    const auto boxes = slabs({5, 4}, {10, 4});
    const auto layout = make_layout("rho", {10, 4}, boxes, 4, k_target, 0);
    ASSERT_FALSE(layout.ok());
    EXPECT_NE(layout.status().message().find("4 of 40 values"), std::string::npos)
        << layout.status().message();
}

TEST(Layout, a_chunk_belongs_to_the_lowest_rank_of_equals) {
    const auto boxes = slabs({5, 5}, {10, 4});
    const auto layout = make_layout("rho", {10, 4}, boxes, 4, k_target, 0);
    ASSERT_TRUE(layout.ok());
    ASSERT_EQ(layout->n_chunks, 1u);
    EXPECT_EQ(layout->mine.size(), 1u);
    EXPECT_TRUE(layout->any_moves);
}

}  // namespace
}  // namespace caesura::writer
