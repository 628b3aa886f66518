#include "writer/sparse_layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace caesura::writer {
namespace {

/// Who painted each value of an array: 1 + the number of the box, 0: nobody.
using Painted = std::vector<std::uint32_t>;

std::uint64_t index_in(const Shape& dims, const Shape& position) {
    std::uint64_t index = 0;
    for (int axis = 0; axis < dims.rank(); ++axis) index = index * dims[axis] + position[axis];
    return index;
}

void paint(Painted& array, const Shape& dims, const Box& box, std::uint32_t colour) {
    for (std::uint64_t i = 0; i < box.extent.count(); ++i) {
        Shape position = box.offset;
        std::uint64_t rest = i;
        for (int axis = dims.rank() - 1; axis >= 0; --axis) {
            position[axis] += rest % box.extent[axis];
            rest /= box.extent[axis];
        }
        array[index_in(dims, position)] = colour;
    }
}

struct RandomCase {
    explicit RandomCase(unsigned seed) : random(seed) {
        const int axes = 1 + static_cast<int>(random() % 4);
        grid.dims = grid.chunk = Shape::filled(axes, 1);
        for (int axis = 0; axis < axes; ++axis) {
            grid.dims[axis] = 1 + random() % 13;
            grid.chunk[axis] = 1 + random() % 7;
        }
        grid.extendable = random() % 2 == 0;
        ranks = 1 + static_cast<int>(random() % 4);
        for (int r = 0; r < ranks; ++r) {
            const auto n = static_cast<std::uint32_t>(random() % 5);
            for (std::uint32_t put = 0, turn = 0; put < n; ++put) {
                turn += static_cast<std::uint32_t>(random() % 2);
                boxes.push_back({r, put, any_box(), turn});
            }
        }
    }
    Box any_box() {
        Box box{grid.dims, grid.dims};
        const bool whole = random() % 8 == 0;
        for (int axis = 0; axis < grid.dims.rank(); ++axis) {
            box.offset[axis] = whole ? 0 : random() % grid.dims[axis];
            const std::uint64_t most = grid.dims[axis] - box.offset[axis];
            box.extent[axis] = whole ? most : random() % (most + 1);
        }
        return box;
    }
    /// The reference: all ranks paint a plain array in each turn, the highest rank first.
    Painted reference() const {
        Painted array(grid.dims.count(), 0);
        for (std::uint32_t turn = 0; turn < 5; ++turn)
            for (int r = ranks; r-- > 0;)
                for (std::uint32_t i = 0; i < boxes.size(); ++i)
                    if (boxes[i].rank == r && boxes[i].turn == turn)
                        paint(array, grid.dims, boxes[i].box, i + 1);
        return array;
    }

    std::mt19937 random;
    SparseGrid grid;
    int ranks = 1;
    std::vector<RankBox> boxes;
};

// Goal: for random boxes, overlapping and with holes, the owners' pieces painted in their order are
// the array that all ranks would have painted; a chunk is covered exactly if no value of it was
// left out; chunks that nobody touches are nobody's.
TEST(SparseLayout, is_what_all_ranks_paint_on_a_plain_array) {
    for (unsigned seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomCase the(seed);
        const Shape& dims = the.grid.dims;
        Painted painted(dims.count(), 0);
        std::map<std::uint64_t, bool> covered;  // by chunk
        for (int r = 0; r < the.ranks; ++r) {
            const Layout layout = make_sparse_layout(the.grid, the.boxes, r);
            for (const OwnedChunk& chunk : layout.mine) {
                ASSERT_TRUE(covered.emplace(chunk.chunk, chunk.covered).second) << "two owners";
                ASSERT_FALSE(chunk.pieces.empty());
                const Box inside{chunk.box.offset, chunk.inside};
                EXPECT_EQ(chunk.valid, the.grid.extendable ? the.grid.chunk : chunk.inside);
                bool hole = false;
                for (const LayoutPiece& piece : chunk.pieces) {
                    ASSERT_EQ(intersect(piece.part, inside), piece.part);
                    paint(painted, dims, piece.part, piece.box + 1);
                }
                for (std::uint64_t i = 0; i < inside.extent.count(); ++i) {
                    Shape position = inside.offset;
                    std::uint64_t rest = i;
                    for (int axis = dims.rank() - 1; axis >= 0; --axis) {
                        position[axis] += rest % inside.extent[axis];
                        rest /= inside.extent[axis];
                    }
                    hole |= painted[index_in(dims, position)] == 0;
                }
                EXPECT_EQ(chunk.covered, !hole);
            }
        }
        EXPECT_EQ(painted, the.reference());
    }
}

// Goal: what one rank means to send is what the other waits for, piece by piece.
TEST(SparseLayout, sender_and_receiver_agree_on_every_move) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomCase the(seed);
        std::vector<Layout> layouts;
        for (int r = 0; r < the.ranks; ++r)
            layouts.push_back(make_sparse_layout(the.grid, the.boxes, r));
        const auto between = [&](int at, int from, int to) {
            std::vector<std::pair<std::uint32_t, Box>> moves;
            for (const Move& move : layouts[static_cast<std::size_t>(at)].moves)
                if (move.from == from && move.to == to)
                    moves.emplace_back(move.piece.box, move.piece.part);
            return moves;
        };
        for (int from = 0; from < the.ranks; ++from)
            for (int to = 0; to < the.ranks; ++to)
                EXPECT_EQ(between(from, from, to), between(to, from, to));
        for (const Layout& layout : layouts) EXPECT_EQ(layout.any_moves, layouts[0].any_moves);
    }
}

TEST(SparseLayout, values_that_all_ranks_write_do_not_travel) {
    std::vector<RankBox> boxes;
    for (int r = 0; r < 4; ++r) boxes.push_back({r, 0, {{0, 0}, {20, 30}}});
    const Layout layout = make_sparse_layout({{20, 30}, {8, 8}, false}, boxes, 0);
    EXPECT_FALSE(layout.any_moves);
    EXPECT_EQ(layout.mine.size(), 12u);
}

// Goal: many small boxes cost what they hold, not their square. 10^5 boxes compared with each other
// would be 10^10 steps: minutes, where this is well below a second.
TEST(SparseLayout, a_hundred_thousand_boxes_are_laid_out_in_one_pass) {
    constexpr std::uint64_t k_boxes = 100'000, k_values = 40;
    for (const bool interleaved : {false, true}) {
        std::vector<RankBox> boxes;
        std::vector<std::uint32_t> puts(4, 0);
        for (int r = 0; r < 4; ++r)
            for (std::uint64_t i = 0; i < k_boxes; ++i) {
                const std::uint64_t owner = interleaved ? i % 4 : i / (k_boxes / 4);
                if (owner == static_cast<std::uint64_t>(r))
                    boxes.push_back({r, puts[owner]++, {{i * k_values}, {k_values}}});
            }
        const SparseGrid grid{{k_boxes * k_values}, {1u << 20}, false};
        std::uint64_t pieces = 0, chunks = 0;
        for (int r = 0; r < 4; ++r) {
            const Layout layout = make_sparse_layout(grid, boxes, r);
            for (const OwnedChunk& chunk : layout.mine) {
                EXPECT_TRUE(chunk.covered);
                pieces += chunk.pieces.size();
                ++chunks;
            }
        }
        EXPECT_EQ(chunks, 4u);
        EXPECT_GE(pieces, k_boxes);
        EXPECT_LE(pieces, k_boxes + chunks);
    }
}

}  // namespace
}  // namespace caesura::writer
