// Goal: the chunks that a box touches are those that share a value with it, whatever the shapes;
// and a dense array is cut into stretches that follow each other.
#include "read/chunk_layout.hpp"

#include <gtest/gtest.h>

#include <random>

namespace caesura::read {
namespace {

constexpr unsigned k_layout_seed = 20251124;

Shape any_shape(std::mt19937& random, int rank, std::uint64_t most) {
    Shape shape = Shape::filled(rank, 1);
    for (int axis = 0; axis < rank; ++axis) shape[axis] = 1 + random() % most;
    return shape;
}

TEST(ChunkLayout, touched_chunks_are_those_that_share_a_value_with_the_box) {
    std::mt19937 random(k_layout_seed);
    for (int round = 0; round < 500; ++round) {
        const int rank = 1 + static_cast<int>(random() % 4);
        const auto layout = ChunkLayout::of(any_shape(random, rank, 9), any_shape(random, rank, 5));
        Box box{layout.shape, layout.shape};
        for (int axis = 0; axis < rank; ++axis) {
            box.offset[axis] = random() % (layout.shape[axis] + 1);
            box.extent[axis] = random() % (layout.shape[axis] - box.offset[axis] + 1);
        }
        std::vector<std::uint64_t> expected;
        for (std::uint64_t n = 0; n < layout.grid.count(); ++n)
            if (intersect(layout.whole(n), box)) expected.push_back(n);
        const TouchedChunks touched(layout, box);
        ASSERT_EQ(touched.count(), expected.size())
            << to_string(layout.shape) << " by " << to_string(layout.chunk) << to_string(box);
        for (std::uint64_t i = 0; i < touched.count(); ++i) ASSERT_EQ(touched[i], expected[i]);
    }
}

TEST(ChunkLayout, chunks_tile_the_array) {
    std::mt19937 random(k_layout_seed);
    for (int round = 0; round < 100; ++round) {
        const int rank = 1 + static_cast<int>(random() % 4);
        const auto layout = ChunkLayout::of(any_shape(random, rank, 9), any_shape(random, rank, 5));
        std::uint64_t values = 0;
        for (std::uint64_t n = 0; n < layout.grid.count(); ++n) {
            const Box inside = layout.inside(n);
            EXPECT_EQ(*intersect(layout.whole(n), {Shape::filled(rank, 0), layout.shape}), inside);
            values += inside.extent.count();
        }
        EXPECT_EQ(values, layout.shape.count());
    }
}

TEST(ChunkLayout, a_dense_array_is_cut_into_stretches_that_follow_each_other) {
    std::mt19937 random(k_layout_seed);
    for (int round = 0; round < 500; ++round) {
        const int rank = 1 + static_cast<int>(random() % 4);
        const Shape shape = any_shape(random, rank, 12);
        const std::uint64_t most_bytes = 1 + random() % 3000;
        const auto layout = ChunkLayout::of(shape, chunk_of_dense(shape, 8, most_bytes));
        EXPECT_LE(layout.chunk.count() * 8, std::max<std::uint64_t>(8, most_bytes));
        std::uint64_t at = 0;  // in bytes
        for (std::uint64_t n = 0; n < layout.grid.count(); ++n) {
            const Box inside = layout.inside(n);
            // Each begins where the one before ends, and has its values in their order: the
            // position of its last one is that of its last value.
            std::uint64_t first = 0, last = 0;
            for (int axis = 0; axis < rank; ++axis) {
                first = first * shape[axis] + inside.offset[axis];
                last = last * shape[axis] + inside.offset[axis] + inside.extent[axis] - 1;
            }
            ASSERT_EQ(first * 8, at) << to_string(shape) << " by " << to_string(layout.chunk);
            ASSERT_EQ(last - first + 1, inside.extent.count());
            at += inside.extent.count() * 8;
        }
        EXPECT_EQ(at, shape.count() * 8);
    }
}

TEST(ChunkLayout, no_chunk_of_a_dense_array_without_values_has_none) {
    EXPECT_EQ(chunk_of_dense(Shape{0, 7}, 4, 1000), (Shape{1, 7}));
}

TEST(ChunkLayout, bytes_that_no_memory_has_are_told) {
    constexpr std::uint64_t k_large = std::uint64_t{1} << 32;
    EXPECT_EQ(array_bytes({3, 5}, 8), 120u);
    EXPECT_EQ(array_bytes({k_large, k_large}, 1), std::nullopt);
    EXPECT_EQ(array_bytes({k_large, k_large / 2}, 8), std::nullopt);
}

}  // namespace
}  // namespace caesura::read
