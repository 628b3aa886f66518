// Goal: pieces of a chunk that overlap are found wherever they are, and looking for them costs
// about as much as there are pieces, not their square.
#include "writer/chunk_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace caesura::writer {
namespace {

std::vector<LayoutPiece> in_a_row(std::uint32_t count, std::uint64_t values_each) {
    std::vector<LayoutPiece> pieces;
    for (std::uint32_t i = 0; i < count; ++i)
        pieces.push_back({i, {{i * values_each}, {values_each}}});
    return pieces;
}

TEST(FindOverlap, compares_each_of_a_hundred_thousand_tiny_puts_with_its_neighbour_at_most) {
    auto pieces = in_a_row(100'000, 3);
    std::mt19937 random(5);
    for (int turn = 0; turn < 2; ++turn) {  // in order, and in none
        std::uint64_t comparisons = 0;
        EXPECT_FALSE(find_overlap(pieces, &comparisons));
        EXPECT_LE(comparisons, pieces.size());
        std::shuffle(pieces.begin(), pieces.end(), random);
    }
}

TEST(FindOverlap, compares_a_piece_of_a_square_with_those_of_a_row_of_it) {
    std::vector<LayoutPiece> pieces;
    constexpr std::uint64_t k_side = 200;
    for (std::uint64_t y = 0; y < k_side; ++y)
        for (std::uint64_t x = 0; x < k_side; ++x) pieces.push_back({0, {{2 * y, 2 * x}, {2, 2}}});
    std::uint64_t comparisons = 0;
    EXPECT_FALSE(find_overlap(pieces, &comparisons));
    EXPECT_LE(comparisons, 2 * k_side * pieces.size());
}

TEST(FindOverlap, says_the_same_as_comparing_all_pairs) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        const int axes = 1 + static_cast<int>(random() % 3);
        std::vector<LayoutPiece> pieces;
        for (std::uint32_t i = 0; i < 2 + random() % 12; ++i) {
            Box box{Shape::filled(axes, 0), Shape::filled(axes, 0)};
            for (int axis = 0; axis < axes; ++axis) {
                box.offset[axis] = random() % 20;
                box.extent[axis] = 1 + random() % (axes == 1 ? 3 : 6);
            }
            pieces.push_back({i, box});
        }
        bool any = false;
        for (std::size_t i = 0; i < pieces.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                any = any || intersect(pieces[i].part, pieces[j].part).has_value();
        const auto found = find_overlap(pieces);
        ASSERT_EQ(found.has_value(), any) << "seed " << seed;
        if (!found) continue;
        EXPECT_LT(found->first, found->second);
        EXPECT_EQ(intersect(pieces[found->first].part, pieces[found->second].part), found->common)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace caesura::writer
