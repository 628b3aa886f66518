// Chunks of datasets that become blocks.
#include "vol/block_shape.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace caesura::vol
