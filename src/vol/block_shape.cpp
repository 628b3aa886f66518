#include "vol/block_shape.hpp"

#include <algorithm>

namespace caesura::vol {
namespace {

constexpr std::uint64_t k_small_bytes = 1u << 20, k_large_bytes = 16u << 20;

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

Shape merged(Shape chunk, const ShapeFacts& facts, std::uint64_t aim) {
    for (int axis = chunk.rank() - 1; axis >= 0; --axis) {
        if (facts.most_dims[axis] != facts.dims[axis]) continue;
        const std::uint64_t room = aim / (chunk.count() * facts.value_bytes);
        const std::uint64_t useful = ceil_div(facts.dims[axis], chunk[axis]);
        chunk[axis] *= std::max<std::uint64_t>(1, std::min(room, useful));
        // The library refuses chunks beyond what a dataset can ever be.
        chunk[axis] = std::min(chunk[axis], std::max<std::uint64_t>(1, facts.dims[axis]));
    }
    return chunk;
}

}  // namespace

Shape block_shape(const ShapeFacts& facts) {
    const std::uint64_t aim = std::max<std::uint64_t>(facts.chunk_bytes, facts.value_bytes);
    if (facts.chunk.rank() > 0) {
        const std::uint64_t bytes = facts.chunk.count() * facts.value_bytes;
        if (bytes > k_large_bytes) return cut(facts.chunk, facts.value_bytes, k_large_bytes);
        if (bytes >= std::min(k_small_bytes, aim / 4)) return facts.chunk;
        return merged(facts.chunk, facts, aim);
    }
    Shape slab = facts.dims;
    for (int axis = 0; axis < slab.rank(); ++axis)
        slab[axis] = std::max<std::uint64_t>(1, slab[axis]);
    slab[0] = ceil_div(slab[0], static_cast<std::uint64_t>(std::max(1, facts.ranks)));
    return cut(slab, facts.value_bytes, aim);
}

}  // namespace caesura::vol
