#include "writer/chunk_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace caesura::writer {
namespace {

int owner_of(std::span<const LayoutPiece> pieces, std::span<const RankBox> boxes) {
    std::map<int, std::uint64_t> overlap;  // by rank, so that ties go to the lowest
    for (const LayoutPiece& piece : pieces)
        overlap[boxes[piece.box].rank] += piece.part.extent.count();
    int owner = -1;
    std::uint64_t largest = 0;
    for (const auto& [rank, values] : overlap)
        if (values > largest) {
            owner = rank;
            largest = values;
        }
    return owner;
}

}  // namespace

std::map<std::uint64_t, ChunkPieces> pieces_of(const ChunkGrid& grid,
                                               std::span<const RankBox> boxes) {
    std::map<std::uint64_t, ChunkPieces> chunks;
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        const Box& box = boxes[i].box;
        grid.for_chunks(box, [&](std::uint64_t number, const Box& whole) {
            ChunkPieces& chunk = chunks[number];
            chunk.box = whole;
            chunk.pieces.push_back({i, *intersect(whole, box)});
        });
    }
    return chunks;
}

std::uint64_t ChunkPieces::value_count() const {
    std::uint64_t values = 0;
    for (const LayoutPiece& piece : pieces) values += piece.part.extent.count();
    return values;
}

Shape fitting_chunk(const Shape& dims, const Shape& steps) {
    Shape fitting = dims;
    for (int axis = 0; axis < dims.rank(); ++axis)
        if (steps[axis] != 0) fitting[axis] = std::min(steps[axis], dims[axis]);
    return fitting;
}

namespace {

/// The axis along which pieces begin at the most places.
int axis_of_most_begins(std::span<const LayoutPiece> pieces) {
    int axis = 0;
    std::size_t most = 0;
    std::vector<std::uint64_t> begins(pieces.size());
    for (int a = 0; a < pieces[0].part.offset.rank(); ++a) {
        std::transform(pieces.begin(), pieces.end(), begins.begin(),
                       [a](const LayoutPiece& piece) { return piece.part.offset[a]; });
        std::sort(begins.begin(), begins.end());
        const auto end = std::unique(begins.begin(), begins.end());
        const auto places = static_cast<std::size_t>(end - begins.begin());
        if (places <= most) continue;
        most = places;
        axis = a;
    }
    return axis;
}

}  // namespace

// A sweep along one axis: a piece is compared with those before it that it may reach. Of pieces in
// a row that is the last one; of n that tile a square, the root of n.
std::optional<Overlap> find_overlap(std::span<const LayoutPiece> pieces,
                                    std::uint64_t* comparisons) {
    if (pieces.size() < 2) return std::nullopt;
    const int axis = axis_of_most_begins(pieces);
    std::vector<std::uint32_t> order(pieces.size()), open;
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return pieces[a].part.offset[axis] < pieces[b].part.offset[axis];
    });
    for (const std::uint32_t i : order) {
        const Box& part = pieces[i].part;
        std::erase_if(open, [&](std::uint32_t j) {
            const Box& before = pieces[j].part;
            return before.offset[axis] + before.extent[axis] <= part.offset[axis];
        });
        for (const std::uint32_t j : open) {
            if (comparisons != nullptr) ++*comparisons;
            if (auto common = intersect(part, pieces[j].part))
                return Overlap{std::min(i, j), std::max(i, j), *common};
        }
        open.push_back(i);
    }
    return std::nullopt;
}

Status check_apart(const std::string& name, const ChunkPieces& chunk,
                   std::span<const RankBox> boxes) {
    const auto overlap = find_overlap(chunk.pieces);
    if (!overlap) return {};
    return {StatusCode::invalid_argument,
            fmt::format("field '{}': ranks {} and {} both put {}", name,
                        boxes[chunk.pieces[overlap->first].box].rank,
                        boxes[chunk.pieces[overlap->second].box].rank, to_string(overlap->common))};
}

bool give_to_owner(Layout& layout, OwnedChunk chunk, int rank) {
    const int owner = owner_of(chunk.pieces, layout.boxes);
    for (const LayoutPiece& piece : chunk.pieces) {
        const int from = layout.boxes[piece.box].rank;
        if (from == owner) continue;
        layout.any_moves = true;
        if (from == rank || owner == rank) layout.moves.push_back({from, owner, piece});
    }
    if (owner == rank) layout.mine.push_back(std::move(chunk));
    return owner == rank;
}

}  // namespace caesura::writer
