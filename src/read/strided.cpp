#include "read/strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "base/invalid.hpp"

namespace caesura::read {
namespace {

using base::invalid;

/// A walk over an array from two sides: so many values, and the bytes between neighbours.
struct Axis {
    std::uint64_t count, from_bytes, to_bytes;
};

void copy_each(const Axis& slow, const Axis& fast, const std::byte* from, std::byte* to,
               std::size_t value_bytes) {
    for (std::uint64_t i = 0; i < slow.count; ++i)
        for (std::uint64_t j = 0; j < fast.count; ++j)
            std::memcpy(to + i * slow.to_bytes + j * fast.to_bytes,
                        from + i * slow.from_bytes + j * fast.from_bytes, value_bytes);
}

/// `fast` is the fast axis of the source, `slow` may be that of the target. In tiles that pass
/// through memory of their own: so each line of the source is read, and each of the target written,
/// at once, however many of them lie at the same place in the cache.
template <class Value>
void copy_tiles(const Axis& slow, const Axis& fast, const std::byte* from, std::byte* to) {
    constexpr std::uint64_t k_tile = 32;
    std::array<Value, k_tile * k_tile> tile;
    for (std::uint64_t i0 = 0; i0 < slow.count; i0 += k_tile) {
        const std::uint64_t n = std::min(k_tile, slow.count - i0);
        for (std::uint64_t j0 = 0; j0 < fast.count; j0 += k_tile) {
            const std::uint64_t m = std::min(k_tile, fast.count - j0);
            const std::byte* const in = from + i0 * slow.from_bytes + j0 * fast.from_bytes;
            std::byte* const out = to + i0 * slow.to_bytes + j0 * fast.to_bytes;
            for (std::uint64_t i = 0; i < n; ++i)
                for (std::uint64_t j = 0; j < m; ++j)
                    std::memcpy(&tile[j * k_tile + i],
                                in + i * slow.from_bytes + j * fast.from_bytes, sizeof(Value));
            for (std::uint64_t j = 0; j < m; ++j)
                for (std::uint64_t i = 0; i < n; ++i)
                    std::memcpy(out + i * slow.to_bytes + j * fast.to_bytes, &tile[j * k_tile + i],
                                sizeof(Value));
        }
    }
}

void copy_any_plane(const Axis& slow, const Axis& fast, const std::byte* from, std::byte* to,
                    std::size_t value_bytes) {
    if (fast.from_bytes == value_bytes && fast.to_bytes == value_bytes) {
        for (std::uint64_t i = 0; i < slow.count; ++i)
            std::memcpy(to + i * slow.to_bytes, from + i * slow.from_bytes,
                        fast.count * value_bytes);
    } else if (value_bytes == 4) {
        copy_tiles<std::uint32_t>(slow, fast, from, to);
    } else if (value_bytes == 8) {
        copy_tiles<std::uint64_t>(slow, fast, from, to);
    } else {
        copy_each(slow, fast, from, to, value_bytes);
    }
}

}  // namespace

Shape dense_strides(const Shape& extent, std::size_t value_bytes) {
    Shape strides = Shape::filled(extent.rank(), value_bytes);
    for (int axis = extent.rank() - 2; axis >= 0; --axis)
        strides[axis] = strides[axis + 1] * extent[axis + 1];
    return strides;
}

Status check_strides(const Shape& extent, const Shape& stride_bytes, std::size_t value_bytes,
                     std::uint64_t memory_bytes) {
    if (stride_bytes.rank() != extent.rank())
        return invalid(
            fmt::format("{} strides for a box of {} axes", stride_bytes.rank(), extent.rank()));
    if (extent.count() == 0) return {};
    std::array<int, k_max_rank> axes{};
    int n = 0;
    for (int axis = 0; axis < extent.rank(); ++axis) {  // into order of their strides
        if (extent[axis] < 2) continue;
        auto at = static_cast<std::size_t>(n++);
        for (; at > 0 && stride_bytes[axes[at - 1]] > stride_bytes[axis]; --at)
            axes[at] = axes[at - 1];
        axes[at] = axis;
    }
    unsigned __int128 covered = value_bytes;  // by values of the axes so far
    for (int i = 0; i < n; ++i) {
        const int axis = axes[static_cast<std::size_t>(i)];
        if (stride_bytes[axis] < covered)
            return invalid(
                fmt::format("strides of {} bytes let values of {} bytes in a box of {} "
                            "overlap",
                            to_string(stride_bytes), value_bytes, to_string(extent)));
        covered += static_cast<unsigned __int128>(stride_bytes[axis]) * (extent[axis] - 1);
    }
    if (covered > memory_bytes)
        return invalid(
            fmt::format("a box of {} with strides of {} bytes does not lie inside {} "
                        "bytes",
                        to_string(extent), to_string(stride_bytes), memory_bytes));
    return {};
}

void copy_strided(const Box& part, const Box& source_box, const std::byte* source,
                  const Box& target_box, const StridedArray& target, std::size_t value_bytes) {
    const int rank = part.extent.rank();
    if (part.extent.count() == 0) return;
    const Shape strides = dense_strides(source_box.extent, value_bytes);
    std::array<Axis, k_max_rank> axes{};
    axes.fill({1, 0, 0});
    const std::byte* from = source;
    std::byte* to = target.data;
    for (int axis = 0; axis < rank; ++axis) {
        from += (part.offset[axis] - source_box.offset[axis]) * strides[axis];
        to += (part.offset[axis] - target_box.offset[axis]) * target.stride_bytes[axis];
        axes[static_cast<std::size_t>(k_max_rank - rank + axis)] = {
            part.extent[axis], strides[axis], target.stride_bytes[axis]};
    }
    // The target's fastest axis goes next to the source's, which is the last.
    const auto fastest =
        std::min_element(axes.begin(), axes.end(), [](const auto& a, const auto& b) {
            return std::tuple(a.count < 2, a.to_bytes) < std::tuple(b.count < 2, b.to_bytes);
        });
    if (fastest != axes.end() - 1) std::swap(*fastest, axes[k_max_rank - 2]);
    for (std::uint64_t i = 0; i < axes[0].count; ++i)
        for (std::uint64_t j = 0; j < axes[1].count; ++j)
            copy_any_plane(axes[2], axes[3], from + i * axes[0].from_bytes + j * axes[1].from_bytes,
                           to + i * axes[0].to_bytes + j * axes[1].to_bytes, value_bytes);
}

void fill_strided(const Shape& extent, const StridedArray& target,
                  std::span<const std::byte> value) {
    // A source whose strides are all 0: the one value again and again.
    std::array<Axis, k_max_rank> axes{};
    axes.fill({1, 0, 0});
    for (int axis = 0; axis < extent.rank(); ++axis)
        axes[static_cast<std::size_t>(k_max_rank - extent.rank() + axis)] = {
            extent[axis], 0, target.stride_bytes[axis]};
    for (std::uint64_t i = 0; i < axes[0].count; ++i)
        for (std::uint64_t j = 0; j < axes[1].count; ++j)
            copy_each(axes[2], axes[3], value.data(),
                      target.data + i * axes[0].to_bytes + j * axes[1].to_bytes, value.size());
}

}  // namespace caesura::read
