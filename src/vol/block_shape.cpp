#include "vol/block_shape.hpp"

#include <algorithm>
#include <numeric>

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
    slab[0] = ceil_div(slab[0], static_cast<std::uint64_t>(std::max(1, facts.ranks)));
    return cut(slab, facts.value_bytes, aim);
}

std::optional<BoxedShape> boxed_shape(std::uint64_t count, const Shape& box,
                                      std::size_t value_bytes, std::uint64_t chunk_bytes) {
    const std::uint64_t cells = box.rank() < 2 ? 0 : box.count();
    if (cells == 0 || count == 0 || count % cells != 0) return std::nullopt;
    BoxedShape boxed{box, box};
    boxed.dims[0] = count / (cells / box[0]);
    const std::uint64_t bytes = cells * value_bytes, row_bytes = bytes / box[0];
    if (row_bytes > k_large_bytes) return std::nullopt;
    const std::uint64_t small = std::min(k_small_box_bytes, chunk_bytes / 4);
    if (bytes > k_large_bytes)
        boxed.chunk[0] = piece_of(box[0], ceil_div(bytes, k_large_bytes));
    else if (bytes < small)
        boxed.chunk[0] *= stack_of(count / cells, ceil_div(small, bytes));
    return boxed;
}

Shape common_box(std::span<const std::int32_t> corners, int axes, std::uint64_t count) {
    const auto n = static_cast<std::size_t>(axes);
    if (n < 1 || axes > k_max_rank || corners.empty() || corners.size() % (2 * n) != 0) return {};
    const auto extent = [&](std::size_t box, std::size_t axis) {
        const std::int64_t low = corners[2 * n * box + axis],
                           high = corners[2 * n * box + n + axis];
        return static_cast<std::uint64_t>(std::max<std::int64_t>(0, high - low + 1));
    };
    const std::size_t boxes = corners.size() / (2 * n);
    std::size_t agreed = n;  // axes from the fastest on
    std::uint64_t cells = 0;
    for (std::size_t b = 0; b < boxes; ++b) {
        std::uint64_t own = 1;
        for (std::size_t axis = 0; axis < n; ++axis) {
            own *= extent(b, axis);
            if (extent(b, axis) != extent(0, axis)) agreed = std::min(agreed, axis);
        }
        if (own == 0 || own > count) return {};
        cells += own;
    }
    if (agreed == 0 || count % cells != 0) return {};
    if (agreed == n) --agreed;  // the slowest one is the slice
    std::uint64_t slice = 0;
    for (std::size_t b = 0; b < boxes; ++b) {
        std::uint64_t rest = 1;
        for (std::size_t axis = agreed; axis < n; ++axis) rest *= extent(b, axis);
        slice = std::gcd(slice, rest);
    }
    Shape box = Shape::filled(static_cast<int>(agreed) + 1, slice);
    for (std::size_t axis = 0; axis < agreed; ++axis)
        box[static_cast<int>(agreed - axis)] = extent(0, axis);
    return box;
}

}  // namespace caesura::vol
