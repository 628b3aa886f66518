#include "vol/piece_index.hpp"

#include <algorithm>
#include <bit>

namespace caesura::vol {
namespace {

/// Fewer are looked at one by one.
constexpr std::size_t k_few = 32;
/// A box that reaches over more cells is wide.
constexpr std::uint64_t k_most_cells = 16;

}  // namespace

void PieceIndex::clear() {
    known_ = built_for_ = 0;
    wide_.clear();
    cells_.clear();
}

std::uint64_t PieceIndex::cells_of(const Box& box) const {
    std::uint64_t cells = 1;
    for (int axis = 0; axis < cell_.rank(); ++axis)
        cells *= (box.offset[axis] + box.extent[axis] - 1) / cell_[axis] -
                 box.offset[axis] / cell_[axis] + 1;
    return cells;
}

// Calls `visit(cell)` with a number for each cell that the box touches. Cells may share a number.
template <class Visit>
void PieceIndex::for_cells(const Box& box, Visit&& visit) const {
    constexpr std::uint64_t k_mix = 0x9e3779b97f4a7c15;
    Shape first = box.offset, last = box.offset;
    for (int axis = 0; axis < cell_.rank(); ++axis) {
        first[axis] = box.offset[axis] / cell_[axis];
        last[axis] = (box.offset[axis] + box.extent[axis] - 1) / cell_[axis];
    }
    Shape at = first;
    for (;;) {
        std::uint64_t cell = 0;
        for (int axis = 0; axis < at.rank(); ++axis)
            cell = (std::rotl(cell, 29) ^ at[axis]) * k_mix;
        visit(cell);
        int axis = at.rank() - 1;
        for (; axis >= 0; --axis) {
            if (at[axis]++ < last[axis]) break;
            at[axis] = first[axis];
        }
        if (axis < 0) return;
    }
}

void PieceIndex::add(std::uint32_t number, const Box& box) {
    if (cells_of(box) > k_most_cells)
        wide_.push_back(number);
    else
        for_cells(box, [&](std::uint64_t cell) { cells_[cell].push_back(number); });
}

void PieceIndex::build(std::size_t count, const std::function<const Box&(std::size_t)>& box_of) {
    clear();
    built_for_ = count;
    cell_ = Shape::filled(box_of(0).extent.rank(), 0);
    for (std::size_t i = 0; i < count; ++i)
        for (int axis = 0; axis < cell_.rank(); ++axis) cell_[axis] += box_of(i).extent[axis];
    // Twice what the boxes have on average, and a few at least.
    constexpr std::uint64_t k_least = 4;
    for (int axis = 0; axis < cell_.rank(); ++axis)
        cell_[axis] = std::max<std::uint64_t>(k_least, 2 * cell_[axis] / count);
}

std::vector<std::uint32_t> PieceIndex::near(const Box& box, std::size_t count,
                                            const std::function<const Box&(std::size_t)>& box_of) {
    if (count >= known_ + k_few) {
        // Anew when there are several times as many: they may be of another size.
        if (built_for_ == 0 || count > 4 * built_for_) build(count, box_of);
        for (; known_ < count; ++known_) add(static_cast<std::uint32_t>(known_), box_of(known_));
    }
    std::vector<std::uint32_t> found;
    const auto look_at = [&](std::uint32_t number) {
        if (intersect(box_of(number), box)) found.push_back(number);
    };
    if (known_ > 0 && cells_of(box) < known_) {
        for (const std::uint32_t number : wide_) look_at(number);
        for_cells(box, [&](std::uint64_t cell) {
            const auto there = cells_.find(cell);
            if (there != cells_.end())
                for (const std::uint32_t number : there->second) look_at(number);
        });
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    } else {
        for (std::uint32_t i = 0; i < known_; ++i) look_at(i);
    }
    for (std::size_t i = known_; i < count; ++i) look_at(static_cast<std::uint32_t>(i));
    return found;
}

}  // namespace caesura::vol
