#include "codec/frame/split.hpp"

#include <fmt/format.h>

#include "codec/frame/byte_io.hpp"

namespace caesura::codec {
namespace {

struct Half {
    Region region;
    int depth = 0;
};

/// The halves of a part that is cut.
Status take_apart(const Half& whole, Half& first, Half& second) {
    const Box& box = whole.region.box;
    ByteReader reader(whole.region.part);
    reader.u8();
    const int axis = reader.u8();
    const std::uint64_t extent = reader.u64();
    const std::uint64_t bytes = reader.u64();
    if (reader.ended_early()) return corrupt_part("it ends where it is cut");
    if (whole.depth == k_deepest_split) return corrupt_part("it is cut too often");
    if (axis >= box.extent.rank() || extent < 1 || extent >= box.extent[axis])
        return corrupt_part(
            fmt::format("a cut at {} along axis {} of {}", extent, axis, to_string(box.extent)));
    const auto parts = reader.rest();
    if (bytes < 1 || bytes >= parts.size())
        return corrupt_part(fmt::format("a half of {} bytes in {}", bytes, parts.size()));
    first = {{box, parts.first(static_cast<std::size_t>(bytes))}, whole.depth + 1};
    second = {{box, parts.subspan(static_cast<std::size_t>(bytes))}, whole.depth + 1};
    first.region.box.extent[axis] = extent;
    second.region.box.offset[axis] += extent;
    second.region.box.extent[axis] -= extent;
    return {};
}

}  // namespace

bool is_split(std::span<const std::byte> part) {
    return part[0] == static_cast<std::byte>(PartKind::split);
}

Result<std::vector<Region>> regions_of(std::span<const std::byte> part, const Shape& shape) {
    std::vector<Region> regions;
    std::vector<Half> open{{{{Shape::filled(shape.rank(), 0), shape}, part}, 0}};
    while (!open.empty()) {
        const Half next = open.back();
        open.pop_back();
        if (!is_split(next.region.part)) {
            regions.push_back(next.region);
            continue;
        }
        Half first, second;
        if (Status status = take_apart(next, first, second); !status.ok()) return status;
        open.push_back(second);
        open.push_back(first);
    }
    return regions;
}

void append_split(int axis, std::uint64_t extent, std::span<const std::byte> first,
                  std::span<const std::byte> second, Output& out) {
    ByteWriter(out)
        .u8(static_cast<std::uint8_t>(PartKind::split))
        .u8(static_cast<std::uint8_t>(axis))
        .u64(extent)
        .u64(first.size());
    out.append(first);
    out.append(second);
}

}  // namespace caesura::codec
