// See cluster.hpp.

#include "cluster.hpp"

#include <cstdlib>

namespace blast {

namespace {

/// How many tags each plane across an axis has.
std::vector<int> signature(const Tags& tags, const Box& box, int axis) {
    std::vector<int> counts(static_cast<std::size_t>(box.extent(axis)));
    for_each(box, [&](int i, int j, int k) {
        const Cell cell{i, j, k};
        counts[static_cast<std::size_t>(cell[axis] - box.lo[axis])] += tags.at(i, j, k);
    });
    return counts;
}

/// The smallest box that has all tags of this one; empty if there are none.
Box shrink(const Tags& tags, const Box& box) {
    Box tight{box.hi, box.lo};
    for_each(box, [&](int i, int j, int k) {
        if (!tags.at(i, j, k)) return;
        const Cell cell{i, j, k};
        for (int d = 0; d < 3; ++d) {
            tight.lo[d] = std::min(tight.lo[d], cell[d]);
            tight.hi[d] = std::max(tight.hi[d], cell[d] + 1);
        }
    });
    return tight;
}

struct Cut {
    int axis = -1, at = 0;
};

Cut cut_at_hole(const Tags& tags, const Box& box) {
    Cut best;
    int best_distance = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const auto counts = signature(tags, box, axis);
        for (int p = 1; p < box.extent(axis); ++p) {
            const int distance = std::abs(2 * p - box.extent(axis));
            if (counts[static_cast<std::size_t>(p)] != 0) continue;
            if (best.axis < 0 || distance < best_distance) {
                best = {axis, box.lo[axis] + p};
                best_distance = distance;
            }
        }
    }
    return best;
}

/// Where the second difference of the counts changes its sign by most.
Cut cut_at_edge(const Tags& tags, const Box& box) {
    Cut best;
    int best_change = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const auto n = signature(tags, box, axis);
        for (std::size_t p = 1; p + 2 < n.size(); ++p) {
            const int below = n[p - 1] - 2 * n[p] + n[p + 1],
                      above = n[p] - 2 * n[p + 1] + n[p + 2];
            if ((below < 0) == (above < 0) || std::abs(above - below) <= best_change) continue;
            best = {axis, box.lo[axis] + static_cast<int>(p) + 1};
            best_change = std::abs(above - below);
        }
    }
    return best;
}

Cut cut_in_middle(const Box& box) {
    int longest = 0;
    for (int d = 1; d < 3; ++d)
        if (box.extent(d) > box.extent(longest)) longest = d;
    return {longest, box.lo[longest] + box.extent(longest) / 2};
}

void split(const Tags& tags, const Box& part, double fill, int max_extent, std::vector<Box>& out) {
    const Box box = shrink(tags, part);
    if (box.empty()) return;
    int tagged = 0, longest = 0;
    for_each(box, [&](int i, int j, int k) { tagged += tags.at(i, j, k); });
    for (int d = 0; d < 3; ++d) longest = std::max(longest, box.extent(d));
    const bool full = tagged >= fill * static_cast<double>(box.cells());
    if (full && longest <= max_extent) return out.push_back(box);
    Cut cut;
    if (!full) cut = cut_at_hole(tags, box);
    if (!full && cut.axis < 0) cut = cut_at_edge(tags, box);
    if (cut.axis < 0) cut = cut_in_middle(box);
    Box low = box, high = box;
    low.hi[cut.axis] = high.lo[cut.axis] = cut.at;
    split(tags, low, fill, max_extent, out);
    split(tags, high, fill, max_extent, out);
}

}  // namespace

std::vector<Box> cluster(const Tags& tags, double fill, int max_extent) {
    std::vector<Box> boxes;
    split(tags, tags.box, fill, max_extent, boxes);
    return boxes;
}

}  // namespace blast
