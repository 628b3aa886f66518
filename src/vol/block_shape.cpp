#include "vol/block_shape.hpp"

#include <algorithm>

namespace caesura::vol {
namespace {

constexpr std::uint64_t k_small_bytes = 1u << 20, k_large_bytes = 16u << 20;
constexpr std::uint64_t k_small_box_bytes = 256u << 10;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

/// At least `pieces` equal pieces of `length` if there is such a number below twice as many.
std::uint64_t piece_of(std::uint64_t length, std::uint64_t pieces) {
    for (std::uint64_t n = pieces; n < 2 * pieces && n <= length; ++n)
        if (length % n == 0) return length / n;
    return ceil_div(length, pieces);
}

/// Cut along the first axes until no more than `most` bytes are left.
Shape cut(Shape shape, std::size_t value_bytes, std::uint64_t most) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::uint64_t pieces = ceil_div(shape.count() * value_bytes, most);
        if (pieces <= 1) break;
        shape[axis] = shape[axis] > pieces ? piece_of(shape[axis], pieces) : 1;
    }
    return shape;
}

/// The library refuses chunks beyond what a dataset can ever be.
Shape within(Shape chunk, const ShapeFacts& facts) {
    for (int axis = 0; axis < chunk.rank(); ++axis)
        if (facts.most_dims[axis] == facts.dims[axis])
            chunk[axis] = std::min(chunk[axis], std::max<std::uint64_t>(1, facts.dims[axis]));
    return chunk;
}

Shape merged(Shape chunk, const ShapeFacts& facts, std::uint64_t aim) {
    for (int axis = chunk.rank() - 1; axis >= 0; --axis) {
        if (facts.most_dims[axis] != facts.dims[axis]) continue;
        const std::uint64_t room = aim / (chunk.count() * facts.value_bytes);
        const std::uint64_t useful = ceil_div(facts.dims[axis], chunk[axis]);
        chunk[axis] *= std::max<std::uint64_t>(1, std::min(room, useful));
    }
    return within(chunk, facts);
}

/// What a rank writes of the first axis, if all write as much; or, where that is very little, what
/// several of them do.
std::uint64_t share_of(const Shape& dims, const ShapeFacts& facts, std::uint64_t aim) {
    constexpr std::uint64_t k_least_bytes = 16u << 10;
    const std::uint64_t share =
        ceil_div(dims[0], static_cast<std::uint64_t>(std::max(1, facts.ranks)));
    const std::uint64_t bytes = share * (dims.count() / dims[0]) * facts.value_bytes;
    const std::uint64_t shares = ceil_div(std::min(k_least_bytes, aim / 4), bytes);
    return std::min(dims[0], share * std::max<std::uint64_t>(1, shares));
}

/// How many of `arrays` equal ones go into a chunk that holds at least `least`; a divisor of
/// `arrays` if there is one below twice as many.
std::uint64_t stack_of(std::uint64_t arrays, std::uint64_t least) {
    for (std::uint64_t n = least; n < 2 * least && n <= arrays; ++n)
        if (arrays % n == 0) return n;
    return std::min(least, arrays);
}

}  // namespace

Shape block_shape(const ShapeFacts& facts) {
    const std::uint64_t aim = std::max<std::uint64_t>(facts.chunk_bytes, facts.value_bytes);
    if (facts.wanted.rank() == facts.dims.rank()) return within(facts.wanted, facts);
    if (facts.chunk.rank() > 0) {
        const std::uint64_t bytes = facts.chunk.count() * facts.value_bytes;
        if (bytes > k_large_bytes) return cut(facts.chunk, facts.value_bytes, k_large_bytes);
        if (bytes >= std::min(k_small_bytes, aim / 4)) return facts.chunk;
        return merged(facts.chunk, facts, aim);
    }
    if (facts.learned.rank() == facts.dims.rank()) return within(facts.learned, facts);
    Shape slab = facts.dims;
    for (int axis = 0; axis < slab.rank(); ++axis)
        slab[axis] = std::max<std::uint64_t>(1, slab[axis]);
    slab[0] = share_of(slab, facts, aim);
    return cut(slab, facts.value_bytes, aim);
}

namespace {

/// Of arrays of one shape.
std::uint64_t chunk_of_equal(const Shape& array, std::uint64_t arrays, std::size_t value_bytes,
                             std::uint64_t chunk_bytes) {
    const std::uint64_t bytes = array.count() * value_bytes;
    if (bytes > k_large_bytes) return cut(array, value_bytes, k_large_bytes).count();
    const std::uint64_t small =
        std::max<std::uint64_t>(1, std::min(k_small_box_bytes, chunk_bytes / 4));
    return array.count() * (bytes < small ? stack_of(arrays, ceil_div(small, bytes)) : 1);
}

/// Where boxes end in a sequence of arrays.
struct Sequence {
    std::vector<std::uint64_t> ends, cells;
    std::uint64_t components;

    std::uint64_t box_at(std::uint64_t value) const {
        return static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), value) -
                                          ends.begin());
    }
    /// Does an array begin at this value?
    bool begins(std::uint64_t value) const {
        const std::uint64_t box = box_at(value);
        return (value - (ends[box] - cells[box] * components)) % cells[box] == 0;
    }
    /// How many of the first borders of chunks of `values` cut an array.
    std::uint64_t cuts(std::uint64_t values) const {
        constexpr std::uint64_t k_borders = 256;
        std::uint64_t cuts = 0;
        for (std::uint64_t i = 1; i <= k_borders && i * values < ends.back(); ++i)
            cuts += !begins(i * values);
        return cuts;
    }
};

}  // namespace

std::uint64_t sequence_chunk(std::span<const Shape> boxes, std::uint64_t components,
                             std::size_t value_bytes, std::uint64_t chunk_bytes, int ranks) {
    Sequence sequence{{}, {}, components};
    std::uint64_t total = 0;
    for (const Shape& box : boxes) {
        if (box.count() == 0) continue;
        sequence.cells.push_back(box.count());
        sequence.ends.push_back(total += box.count() * components);
    }
    if (total == 0) return 1;
    if (std::all_of(boxes.begin(), boxes.end(), [&](const Shape& box) { return box == boxes[0]; }))
        return std::min(
            total, chunk_of_equal(boxes[0], boxes.size() * components, value_bytes, chunk_bytes));
    const std::uint64_t most = std::max<std::uint64_t>(chunk_bytes, value_bytes);
    const std::uint64_t share = total * value_bytes / (2 * static_cast<std::uint64_t>(ranks));
    const std::uint64_t aim = std::clamp(share, std::min(k_small_bytes, most), most) / value_bytes;
    if (total <= aim) return total;
    // Ends of boxes and of arrays near the aim, and the aim itself.
    constexpr std::uint64_t k_candidates = 64;
    std::uint64_t best = aim, fewest = sequence.cuts(aim);
    std::uint64_t tried = 0;
    for (std::uint64_t at = aim / 2; at < std::min(total, aim + aim / 2) && tried < k_candidates;
         ++tried) {
        const std::uint64_t box = sequence.box_at(at), cells = sequence.cells[box];
        const std::uint64_t begin = sequence.ends[box] - cells * components;
        at = begin + ceil_div(at + 1 - begin, cells) * cells;  // the next array's begin
        const std::uint64_t cuts = sequence.cuts(at);
        if (cuts >= fewest) continue;
        fewest = cuts;
        best = at;
    }
    return best;
}

std::vector<Shape> shapes_of(std::span<const std::int32_t> corners, int axes, std::uint64_t most) {
    const auto n = static_cast<std::size_t>(axes);
    if (axes < 1 || axes > k_max_rank || corners.size() % (2 * n) != 0) return {};
    std::vector<Shape> shapes;
    for (std::size_t at = 0; at < corners.size(); at += 2 * n) {
        Shape shape = Shape::filled(axes, 0);
        std::uint64_t room = most;
        for (std::size_t axis = 0; axis < n; ++axis) {
            const std::int64_t low = corners[at + axis], high = corners[at + n + axis];
            const auto extent = static_cast<std::uint64_t>(high < low ? 0 : high - low + 1);
            if (extent == 0 || extent > room) return {};
            room /= extent;
            shape[static_cast<int>(n - 1 - axis)] = extent;
        }
        shapes.push_back(shape);
    }
    return shapes;
}

}  // namespace caesura::vol
