// Threads that help in the application's calls: every piece once, nothing touched afterwards.
#include "run/call_helpers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>

namespace caesura::run {
namespace {

// Calls of all lengths, one straight after the other, so that helpers come late to most of them.
TEST(CallHelpers, makes_every_piece_once) {
    for (const int threads : {0, 1, 3}) {
        CallHelpers helpers(threads);
        EXPECT_EQ(helpers.threads(), threads + 1);
        for (std::size_t call = 0; call < 3000; ++call) {
            const std::size_t pieces = call % 37;
            // Its memory is gone with the call: a late helper would be seen by the sanitizers.
            const auto made = std::make_unique<std::vector<std::atomic<int>>>(pieces);
            helpers.for_each(pieces, [&](std::size_t i) { (*made)[i].fetch_add(1); });
            for (std::size_t i = 0; i < pieces; ++i) ASSERT_EQ((*made)[i].load(), 1) << i;
        }
    }
}

TEST(CallHelpers, copies_every_byte_and_no_other) {
    std::mt19937 random(20261127);
    RecordProperty("seed", 20261127);
    CallHelpers helpers(2);
    for (const std::size_t bytes :
         {0UL, 1UL, 4096UL, (2UL << 20) - 1, 2UL << 20, (5UL << 20) + 3}) {
        std::vector<std::byte> from(bytes + 2), to(bytes + 2, std::byte{0x55});
        for (std::byte& one : from) one = static_cast<std::byte>(random());
        helpers.copy(to.data() + 1, from.data() + 1, bytes);
        EXPECT_EQ(std::memcmp(to.data() + 1, from.data() + 1, bytes), 0) << bytes;
        EXPECT_EQ(to.front(), std::byte{0x55});
        EXPECT_EQ(to.back(), std::byte{0x55});
    }
}

// An exception in a helper's piece is the caller's, after all pieces, and the next call is a new
// one.
TEST(CallHelpers, hands_on_what_a_piece_throws) {
    CallHelpers helpers(1);
    for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<int> made{0};
        const auto work = [&](std::size_t i) {
            made.fetch_add(1);
            if (i % 2 == 0) throw std::runtime_error("piece");
        };
        EXPECT_THROW(helpers.for_each(8, work), std::runtime_error);
        EXPECT_EQ(made.load(), 8);
        helpers.for_each(3, [&](std::size_t) { made.fetch_add(1); });
        EXPECT_EQ(made.load(), 11);
    }
}

// Both threads are at a piece at the same time: each waits for the other's beginning.
TEST(CallHelpers, works_with_several_threads_at_once) {
    CallHelpers helpers(1);
    std::atomic<int> begun{0};
    helpers.for_each(2, [&](std::size_t) {
        begun.fetch_add(1);
        while (begun.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(begun.load(), 2);
}

}  // namespace
}  // namespace caesura::run
