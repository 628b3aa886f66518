#include "transit/client/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace caesura::transit {
namespace {

// Goal: mappings never overlap, whoever maps and unmaps at once, and keep what is written.
TEST(Arena, mappings_of_several_threads_never_overlap) {
    const unsigned seed = 7;
    SCOPED_TRACE(seed);
    auto arena = Arena::make(std::uint64_t{256} << 20);
    ASSERT_TRUE(arena.ok()) << arena.status().message();
    std::atomic<int> wrong{0}, mapped{0};
    const auto work = [&](unsigned number) {
        std::mt19937 random(seed + number);
        std::map<std::byte*, std::pair<std::size_t, std::byte>> held;
        for (int i = 0; i < 100; ++i) {
            const std::size_t bytes = 1 + random() % (6u << 20);
            if (std::byte* const data = (*arena)->map(bytes)) {
                const auto mark = static_cast<std::byte>(random());
                std::memset(data, static_cast<int>(mark), bytes);
                held[data] = {bytes, mark};
                ++mapped;
            }
            if (held.size() > 8 || i == 99)
                while (held.size() > (i == 99 ? 0u : 4u)) {
                    const auto [data, what] = *held.begin();
                    for (std::size_t at = 0; at < what.first; at += 997)
                        wrong += data[at] != what.second;
                    (*arena)->unmap(data, what.first);
                    held.erase(held.begin());
                }
        }
    };
    std::thread one(work, 1u), two(work, 2u);
    one.join();
    two.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(mapped, 150);
}

// Goal: a full arena says so, and has room again once something is given back.
TEST(Arena, says_that_it_is_full_and_reuses_what_comes_back) {
    auto arena = Arena::make(std::uint64_t{128} << 20);
    ASSERT_TRUE(arena.ok());
    std::vector<std::byte*> all;
    while (std::byte* const data = (*arena)->map(8u << 20)) all.push_back(data);
    EXPECT_GE(all.size(), 15u);
    EXPECT_EQ((*arena)->map(8u << 20), nullptr);
    (*arena)->unmap(all[3], 8u << 20);
    EXPECT_EQ((*arena)->map(8u << 20), all[3]);
    EXPECT_TRUE((*arena)->has(all[3]));
    EXPECT_FALSE((*arena)->has(reinterpret_cast<std::byte*>(&arena)));
    for (std::byte* const data : all) (*arena)->unmap(data, 8u << 20);
}

}  // namespace
}  // namespace caesura::transit
