#include "base/buffer.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace caesura::base {
namespace {

TEST(MemoryBudget, refuses_what_exceeds_the_limit_and_remembers_the_peak) {
    MemoryBudget budget(100);
    EXPECT_TRUE(budget.try_charge(60));
    EXPECT_FALSE(budget.try_charge(41));
    EXPECT_TRUE(budget.try_charge(40));
    budget.release(100);
    EXPECT_EQ(budget.held_bytes(), 0u);
    EXPECT_EQ(budget.peak_bytes(), 100u);
    budget.charge(150);
    EXPECT_EQ(budget.peak_bytes(), 150u);
}

TEST(BufferPool, gives_the_same_pages_again_for_a_like_size) {
    BufferPool pool;
    std::byte* first = nullptr;
    {
        auto buffer = pool.take(1 << 20);
        ASSERT_TRUE(buffer.ok());
        first = buffer->data();
    }
    auto same = pool.take((1 << 20) - 100);
    EXPECT_EQ(same->data(), first);
    EXPECT_EQ(same->size(), (1u << 20) - 100);
    auto tiny = pool.take(10);
    EXPECT_NE(tiny->data(), first);
}

TEST(BufferPool, an_impossible_size_is_an_error_that_names_it) {
    BufferPool pool;
    const auto buffer = pool.take(std::size_t{1} << 60);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.status().code(), StatusCode::no_space);
    EXPECT_NE(buffer.status().message().find("1152921504606846976"), std::string::npos);
}

TEST(BufferPool, small_buffers_never_crowd_out_a_large_one) {
    BufferPool pool;
    std::byte* first = nullptr;
    {
        auto large = pool.take(4 << 20);
        first = large->data();
        std::vector<Buffer> small;
        for (int i = 0; i < 100; ++i) small.push_back(std::move(*pool.take(5000)));
    }
    EXPECT_EQ(pool.take(4 << 20)->data(), first);
}

// Goal: stored blocks, which come and go one by one and are never of one size, find pages that have
// been touched. There are few of them, whatever came before.
TEST(BufferPool, small_buffers_of_like_sizes_are_found_again_and_few_are_kept) {
    BufferPool pool;
    const std::byte* first = pool.take(300'000)->data();
    EXPECT_EQ(pool.take(310'000)->data(), first);
    EXPECT_NE(pool.take(200'000)->data(), first) << "a third of it would be hidden from budgets";
    pool.trim();
    {
        std::vector<Buffer> small;
        for (int i = 0; i < 100; ++i) small.push_back(std::move(*pool.take(600'000)));
    }
    EXPECT_LE(pool.mapped_bytes(), 16u << 20);
    EXPECT_GE(pool.mapped_bytes(), 5u << 20);
    pool.trim();
    EXPECT_EQ(pool.mapped_bytes(), 0u);
}

std::size_t pages_there(const Buffer& buffer) {
    std::vector<unsigned char> there((buffer.size() + 4095) / 4096);
    EXPECT_EQ(::mincore(const_cast<std::byte*>(buffer.data()), buffer.size(), there.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(there.begin(), there.end(), [](unsigned char page) { return page & 1; }));
}

// Goal: whoever is about to write a whole buffer has its pages at once, of odd sizes too; whoever
// does not ask has none.
TEST(BufferPool, pages_are_there_from_the_start_where_that_is_asked_for) {
    constexpr std::size_t k_bytes = (3u << 20) + 5000;
    BufferPool pool;
    auto later = pool.take(k_bytes);
    auto now = pool.take(k_bytes, Pages::now);
    ASSERT_TRUE(later.ok() && now.ok());
    EXPECT_EQ(pages_there(*later), 0u);
    const std::size_t there = pages_there(*now);
    if (there == 0) GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
    EXPECT_EQ(there, (k_bytes + 4095) / 4096);
}

// Goal: what is expected is made by whoever has time, pages and all, and is then taken.
TEST(BufferPool, expected_buffers_are_ready_when_they_are_taken) {
    constexpr std::size_t k_bytes = (2u << 20) + 5000;
    BufferPool pool;
    EXPECT_FALSE(pool.prepare());
    pool.expect(k_bytes);
    pool.expect(k_bytes);
    pool.expect(5000);  // too small to be kept
    EXPECT_TRUE(pool.prepare());
    EXPECT_TRUE(pool.prepare());
    EXPECT_FALSE(pool.prepare());
    auto first = pool.take(k_bytes), second = pool.take(k_bytes), third = pool.take(k_bytes);
    EXPECT_EQ(pages_there(*first), (k_bytes + 4095) / 4096);
    EXPECT_EQ(pages_there(*second), (k_bytes + 4095) / 4096);
    EXPECT_EQ(pages_there(*third), 0u);
}

TEST(BufferPool, expects_nothing_any_more_when_it_is_told_to) {
    BufferPool pool;
    for (int i = 0; i < 100; ++i) pool.expect(1u << 20);  // more than it keeps
    EXPECT_TRUE(pool.prepare());
    pool.expect_nothing();
    EXPECT_FALSE(pool.prepare());
    pool.expect(1u << 20);
    EXPECT_TRUE(pool.prepare());
    pool.trim();
    EXPECT_EQ(pages_there(*pool.take(1u << 20)), 0u) << "what was prepared went back";
}

// Goal: a pool that is used for long by somebody whose sizes change (files of a refined mesh)
// neither grows nor stays full of sizes that nobody wants any more.
TEST(BufferPool, keeps_what_it_may_and_gives_old_sizes_up_for_new_ones) {
    constexpr std::size_t k_old = 2u << 20, k_new = 3u << 20;
    BufferPool pool(8u << 20);
    const auto use = [&](std::size_t bytes, int count) {
        std::vector<Buffer> buffers;
        for (int i = 0; i < count; ++i) buffers.push_back(std::move(*pool.take(bytes, Pages::now)));
    };
    use(k_old, 4);
    EXPECT_EQ(pool.mapped_bytes(), 8u << 20);
    use(k_old, 6);  // more than it may keep, and all are there
    EXPECT_EQ(pool.mapped_bytes(), 8u << 20);
    use(k_new, 2);
    EXPECT_LE(pool.mapped_bytes(), 8u << 20);
    std::vector<const std::byte*> before;
    for (int round = 0; round < 2; ++round) {
        auto first = pool.take(k_new), second = pool.take(k_new);
        const std::vector<const std::byte*> now{first->data(), second->data()};
        if (round > 0) {
            EXPECT_EQ(std::count(before.begin(), before.end(), now[0]), 1);
            EXPECT_EQ(std::count(before.begin(), before.end(), now[1]), 1);
        }
        before = now;
    }
    pool.trim();
    EXPECT_EQ(pool.mapped_bytes(), 0u);
}

// Goal: no buffer is ever owned twice, from several threads. Each owner writes its mark over the
// whole buffer and finds it unchanged.
TEST(BufferPool, never_gives_one_buffer_to_two_owners) {
    BufferPool pool;
    std::atomic<int> broken{0};
    const auto use = [&](int id) {
        for (int round = 0; round < 60; ++round) {
            auto buffer = pool.take(static_cast<std::size_t>((1 << 20) + (round % 3) * 4096));
            if (!buffer.ok()) {
                ++broken;
                return;
            }
            std::memset(buffer->data(), id, buffer->size());
            std::this_thread::yield();
            for (std::byte b : buffer->bytes())
                if (b != static_cast<std::byte>(id)) ++broken;
        }
    };
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; ++id) threads.emplace_back(use, id);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(broken.load(), 0);
}

}  // namespace
}  // namespace caesura::base
