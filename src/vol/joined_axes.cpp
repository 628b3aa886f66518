// Datasets of more axes than blocks have: neighbours are one axis of the blocks (fold_axes).
//
// A chunk of joined axes is one of the dataset's own if it has whole rows of all but the first of
// them, or one index of the first and a part that divides the second.
#include <algorithm>

#include "vol/block_dataset.hpp"

namespace caesura::vol {
namespace {

using Extents = std::array<hsize_t, H5S_MAX_RANK>;

/// The axes that axis `i` of the blocks is made of: from the first one to before `end`.
struct Group {
    std::size_t first = 0, end = 0;
};

Group group_of(const BlockDataset& dataset, std::size_t i) {
    return {i == 0 ? 0 : static_cast<std::size_t>(dataset.axes[i]),
            i + 1 < dataset.axes.size() ? static_cast<std::size_t>(dataset.axes[i + 1])
                                        : static_cast<std::size_t>(dataset.rank)};
}

}  // namespace

Extents native_offset(const BlockDataset& dataset, const Shape& offset) {
    Extents out{};
    for (std::size_t i = 0; i < dataset.axes.size(); ++i) {
        const Group group = group_of(dataset, i);
        std::uint64_t rest = offset[static_cast<int>(i)];
        // What comes before the first kept axis has extent 1.
        const std::size_t first = static_cast<std::size_t>(dataset.axes[i]);
        for (std::size_t axis = group.end - 1; axis > first; --axis) {
            const std::uint64_t extent = std::max<std::uint64_t>(1, dataset.extents[axis]);
            out[axis] = rest % extent;
            rest /= extent;
        }
        out[first] = rest;
    }
    return out;
}

Extents native_extent(const BlockDataset& dataset, const Shape& extent) {
    Extents out{};
    out.fill(1);
    for (std::size_t i = 0; i < dataset.axes.size(); ++i) {
        std::uint64_t rest = extent[static_cast<int>(i)];
        const std::size_t first = static_cast<std::size_t>(dataset.axes[i]);
        for (std::size_t axis = group_of(dataset, i).end - 1; axis > first; --axis) {
            out[axis] = std::min<std::uint64_t>(rest, dataset.extents[axis]);
            rest = std::max<std::uint64_t>(1, rest / std::max<std::uint64_t>(1, out[axis]));
        }
        out[first] = rest;
    }
    return out;
}

Shape joined_extents(const BlockDataset& dataset, std::span<const hsize_t> extents) {
    Shape joined = Shape::filled(static_cast<int>(dataset.axes.size()), 1);
    for (std::size_t i = 0; i < dataset.axes.size(); ++i) {
        const Group group = group_of(dataset, i);
        for (std::size_t axis = group.first; axis < group.end; ++axis)
            joined[static_cast<int>(i)] *= extents[axis];
    }
    return joined;
}

Shape joined_chunk(const BlockDataset& dataset, const Shape& chunk) {
    Shape fitting = chunk;
    for (std::size_t i = 0; i < dataset.axes.size(); ++i) {
        std::uint64_t rest = chunk[static_cast<int>(i)], whole = 1;
        const std::size_t first = static_cast<std::size_t>(dataset.axes[i]);
        for (std::size_t axis = group_of(dataset, i).end - 1; axis > first; --axis) {
            const std::uint64_t extent = std::max<std::uint64_t>(1, dataset.extents[axis]);
            if (rest >= extent) {
                rest /= extent;
                whole *= extent;
                continue;
            }
            while (extent % rest != 0) --rest;
            whole *= rest;
            rest = 1;
        }
        fitting[static_cast<int>(i)] = whole * rest;
    }
    return fitting;
}

}  // namespace caesura::vol
