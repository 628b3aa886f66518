// Which ranks count symbols for the next dump's tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "writer/impl.hpp"

namespace caesura {
namespace {

TEST(WriterCounting, at_most_64_ranks_count_and_they_are_spread_evenly) {
    for (const int size : {1, 2, 63, 64, 65, 100, 128, 1000, 9999}) {
        std::vector<int> ranks;
        for (int rank = 0; rank < size; ++rank)
            if (writer::counts_tables(rank, size)) ranks.push_back(rank);
        EXPECT_EQ(ranks.size(), static_cast<std::size_t>(std::min(size, 64))) << size;
        EXPECT_EQ(ranks.front(), 0);
        for (std::size_t i = 1; i < ranks.size(); ++i) {
            EXPECT_GE(ranks[i] - ranks[i - 1], size / 64) << size;
            EXPECT_LE(ranks[i] - ranks[i - 1], size / 64 + 1) << size;
        }
    }
}

}  // namespace
}  // namespace caesura
