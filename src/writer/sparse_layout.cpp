#include "writer/sparse_layout.hpp"

#include <algorithm>
#include <cstring>

#include "writer/chunk_pieces.hpp"

namespace caesura::writer {
namespace {

// From boxes in ascending order of rank and put to the order of painting: turn by turn, the ranks
// of each in descending order, the puts of each as they are. What lies under a box that covers
// everything is left out.
void order_by_painting(std::vector<LayoutPiece>& pieces, const Shape& inside,
                       const std::vector<RankBox>& boxes) {
    std::stable_sort(pieces.begin(), pieces.end(), [&](const LayoutPiece& a, const LayoutPiece& b) {
        const RankBox &one = boxes[a.box], &other = boxes[b.box];
        return one.turn != other.turn ? one.turn < other.turn : one.rank > other.rank;
    });
    const auto whole = std::find_if(pieces.rbegin(), pieces.rend(), [&](const LayoutPiece& piece) {
        return piece.part.extent == inside;
    });
    if (whole != pieces.rend()) pieces.erase(pieces.begin(), std::prev(whole.base()));
}

// Call `visit(first, count)` for each row of `part` in a dense array that holds `box`.
template <class Visit>
void for_rows(const Box& part, const Box& box, Visit visit) {
    const int last = part.extent.rank() - 1;
    Shape position = part.offset;
    for (;;) {
        std::uint64_t index = 0;
        for (int axis = 0; axis <= last; ++axis)
            index = index * box.extent[axis] + (position[axis] - box.offset[axis]);
        visit(index, part.extent[last]);
        int axis = last - 1;
        for (; axis >= 0; --axis) {
            if (++position[axis] < part.offset[axis] + part.extent[axis]) break;
            position[axis] = part.offset[axis];
        }
        if (axis < 0) return;
    }
}

// Do the pieces leave nothing of `inside` open? Counting decides it where there is one, or where
// there are too few values; else every value is looked at, so that many small pieces cost no more
// than their values.
bool covers(const std::vector<LayoutPiece>& pieces, const Box& inside, std::vector<char>& map) {
    const std::uint64_t wanted = inside.extent.count();
    std::uint64_t values = 0;
    for (const LayoutPiece& piece : pieces) values += piece.part.extent.count();
    if (pieces.size() == 1 || values < wanted) return values == wanted;
    map.assign(wanted, 0);
    for (const LayoutPiece& piece : pieces)
        for_rows(piece.part, inside, [&](std::uint64_t first, std::uint64_t count) {
            std::memset(map.data() + first, 1, count);
        });
    return std::memchr(map.data(), 0, wanted) == nullptr;
}

}  // namespace

Layout make_sparse_layout(const SparseGrid& spec, std::vector<RankBox> boxes, int rank) {
    const ChunkGrid grid(spec.dims, spec.chunk);
    Layout layout;
    layout.dims = spec.dims;
    layout.chunk = spec.chunk;
    layout.boxes = std::move(boxes);
    layout.n_chunks = grid.counts.count();
    std::vector<char> map;
    auto chunks = pieces_of(grid, layout.boxes);
    layout.n_touched = chunks.size();
    for (auto& [number, chunk] : chunks) {
        const Box inside{chunk.box.offset, grid.inside(chunk.box)};
        order_by_painting(chunk.pieces, inside.extent, layout.boxes);
        OwnedChunk owned{number, chunk.box, spec.extendable ? spec.chunk : inside.extent,
                         std::move(chunk.pieces)};
        owned.inside = inside.extent;
        layout.may_be_open |= owned.pieces[0].part.extent != inside.extent;
        if (!give_to_owner(layout, std::move(owned), rank)) continue;
        layout.mine.back().covered = covers(layout.mine.back().pieces, inside, map);
    }
    return layout;
}

}  // namespace caesura::writer
