#include "ledger/free_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace caesura::ledger {
namespace {

constexpr unsigned k_free_space_seed = 20221115;
constexpr std::uint64_t k_block = 4096;

// Goal: stretches that touch become one, whatever the order they come in; nothing is lost or made.
TEST(FreeSpace, joins_what_touches) {
    RecordProperty("seed", static_cast<int>(k_free_space_seed));
    std::mt19937 random(k_free_space_seed);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::uint64_t> pages(100);
        std::iota(pages.begin(), pages.end(), std::uint64_t{16});
        std::shuffle(pages.begin(), pages.end(), random);
        pages.resize(60);
        FreeSpace space;
        for (const std::uint64_t page : pages) space.add({page * k_block, k_block});
        space.add({0, 0});
        EXPECT_EQ(space.bytes(), 60 * k_block);
        std::sort(pages.begin(), pages.end());
        std::vector<Extent> expected;
        for (const std::uint64_t page : pages) {
            if (!expected.empty() && expected.back().end() == page * k_block)
                expected.back().bytes += k_block;
            else
                expected.push_back({page * k_block, k_block});
        }
        EXPECT_EQ(space.extents(), expected);
    }
}

TEST(FreeSpace, forgets_what_lies_behind_the_end_and_the_smallest_of_too_many) {
    FreeSpace space;
    space.add({1 * k_block, 4 * k_block});
    space.add({8 * k_block, 4 * k_block});
    space.cut(10 * k_block);
    EXPECT_EQ(space.extents(),
              (std::vector<Extent>{{k_block, 4 * k_block}, {8 * k_block, 2 * k_block}}));
    space.cut(k_block);
    EXPECT_TRUE(space.extents().empty());
    space.add({0, k_block});
    for (std::uint64_t i = 1; i <= FreeSpace::k_most_extents; ++i)
        space.add({i * 8 * k_block, 2 * k_block});
    EXPECT_EQ(space.extents().size(), FreeSpace::k_most_extents);
    EXPECT_EQ(space.extents()[0].address, 8 * k_block);
}

}  // namespace
}  // namespace caesura::ledger
