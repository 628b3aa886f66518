// Boxes of cells: from lo to hi, hi excluded. Axis 0 is the slowest in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace blast {

using Cell = std::array<int, 3>;

struct Box {
    Cell lo{}, hi{};

    bool empty() const { return lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2]; }
    int extent(int axis) const { return hi[axis] - lo[axis]; }
    std::int64_t cells() const {
        return empty() ? 0 : std::int64_t{extent(0)} * extent(1) * extent(2);
    }
    bool contains(const Box& other) const {
        for (int a = 0; a < 3; ++a)
            if (other.lo[a] < lo[a] || other.hi[a] > hi[a]) return false;
        return true;
    }
    friend bool operator==(const Box&, const Box&) = default;
};

inline Box intersect(const Box& a, const Box& b) {
    Box common;
    for (int d = 0; d < 3; ++d) {
        common.lo[d] = std::max(a.lo[d], b.lo[d]);
        common.hi[d] = std::min(a.hi[d], b.hi[d]);
    }
    return common;
}

inline Box grow(Box box, int cells) {
    for (int d = 0; d < 3; ++d) {
        box.lo[d] -= cells;
        box.hi[d] += cells;
    }
    return box;
}

inline Box refine(Box box, int ratio) {
    for (int d = 0; d < 3; ++d) {
        box.lo[d] *= ratio;
        box.hi[d] *= ratio;
    }
    return box;
}

/// The coarse cells that have a part of the box, which lies at lo >= 0.
inline Box coarsen(Box box, int ratio) {
    for (int d = 0; d < 3; ++d) {
        box.lo[d] /= ratio;
        box.hi[d] = (box.hi[d] + ratio - 1) / ratio;
    }
    return box;
}

/// The faces between and around a box's cells along an axis; face i lies below cell i.
inline Box faces(Box box, int axis) {
    ++box.hi[axis];
    return box;
}

/// Calls f(i, j, k) for each cell in memory order.
template <class F>
void for_each(const Box& box, F&& f) {
    for (int i = box.lo[0]; i < box.hi[0]; ++i)
        for (int j = box.lo[1]; j < box.hi[1]; ++j)
            for (int k = box.lo[2]; k < box.hi[2]; ++k) f(i, j, k);
}

}  // namespace blast
