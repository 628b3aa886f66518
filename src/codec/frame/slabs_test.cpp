// Slabs: they tile any array in order and within the limit; errors of any thread come back.
#include "codec/frame/slabs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

namespace caesura::codec {
namespace {

void expect_tiles(const Slabs& slabs, const Shape& shape, std::uint64_t limit) {
    SCOPED_TRACE(to_string(shape));
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < slabs.count(); ++i) {
        const Slab slab = slabs[i];
        EXPECT_EQ(slab.first, next);
        EXPECT_GE(slab.shape.count(), 1u);
        EXPECT_LE(slab.shape.count(), limit);
        next += slab.shape.count();
    }
    EXPECT_EQ(next, shape.count());
}

TEST(Slabs, tile_any_large_array_within_the_limit) {
    for (const std::size_t value_bytes : {4u, 8u}) {
        const std::uint64_t limit = k_slab_limit_bytes / value_bytes;
        for (const Shape& shape :
             {Shape{5'000'000}, Shape{1, 1, 50'000'000}, Shape{1'000'000, 17}, Shape{3, 4'000'000},
              Shape{512, 512, 512}, Shape{4, 1024, 1024, 1024}, Shape{7, 1, 2100, 2100},
              Shape{4'194'305}, Shape{4'194'304}, Shape{1}, Shape{2, 3, 5, 7}, Shape{50'000'017},
              Shape{2, 8'000'000'000}}) {
            expect_tiles(choose_slabs(shape, value_bytes), shape, limit);
        }
    }
}

TEST(Slabs, random_shapes_and_cuts_tile) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        Shape shape = Shape::filled(1 + static_cast<int>(random() % 4), 1);
        for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = 1 + random() % 12;
        const int axis = static_cast<int>(random()) % shape.rank();
        const SlabCut cut{std::abs(axis), 1 + random() % shape[std::abs(axis)]};
        const auto slabs = Slabs::make(shape, cut);
        ASSERT_TRUE(slabs.ok());
        expect_tiles(*slabs, shape, shape.count());
    }
}

TEST(Slabs, an_array_up_to_the_limit_is_one_and_larger_ones_are_at_least_half_full) {
    EXPECT_EQ(choose_slabs(Shape{64, 256, 256}, 4).count(), 1u);
    const Slabs slabs = choose_slabs(Shape{512, 512, 512}, 4);
    EXPECT_EQ(slabs.count(), 32u);
    EXPECT_EQ(slabs[0].shape, (Shape{16, 512, 512}));
    EXPECT_EQ(choose_slabs(Shape{65, 256, 256}, 4)[0].shape, (Shape{33, 256, 256}));
}

TEST(Slabs, a_cut_outside_the_shape_is_corrupt) {
    const Shape shape{4, 5};
    for (const SlabCut& cut : {SlabCut{0, 0}, SlabCut{0, 5}, SlabCut{2, 1}, SlabCut{-1, 1}})
        EXPECT_EQ(Slabs::make(shape, cut).status().code(), StatusCode::corrupt);
}

TEST(ForEachParallel, does_every_index_once_whatever_the_number_of_threads) {
    for (const int threads : {0, 1, 2, 5, 100}) {
        std::vector<std::atomic<int>> done(37);
        const Status status =
            for_each_parallel(done.size(), threads, [&](int worker, std::uint64_t index) {
                EXPECT_LT(worker, worker_count(done.size(), threads));
                ++done[index];
                return Status();
            });
        EXPECT_TRUE(status.ok());
        for (const auto& count : done) EXPECT_EQ(count, 1);
    }
    EXPECT_TRUE(for_each_parallel(0, 4, [](int, std::uint64_t) {
                    return Status(StatusCode::internal, "called without work");
                }).ok());
}

TEST(ForEachParallel, the_lowest_failing_index_gives_the_error_and_memory_is_no_space) {
    for (const int threads : {1, 3}) {
        const Status status = for_each_parallel(20, threads, [&](int, std::uint64_t index) {
            if (index >= 5) return Status(StatusCode::corrupt, std::to_string(index));
            return Status();
        });
        EXPECT_EQ(status.code(), StatusCode::corrupt);
        EXPECT_EQ(status.message(), "5");
        EXPECT_EQ(for_each_parallel(20, threads,
                                    [](int, std::uint64_t index) -> Status {
                                        if (index == 3) throw std::bad_alloc();
                                        return {};
                                    })
                      .code(),
                  StatusCode::no_space);
        EXPECT_EQ(for_each_parallel(20, threads,
                                    [](int, std::uint64_t) -> Status {
                                        throw std::length_error("in every thread");
                                    })
                      .code(),
                  StatusCode::no_space);
    }
}

}  // namespace
}  // namespace caesura::codec
