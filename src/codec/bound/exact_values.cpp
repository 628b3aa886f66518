#include "codec/bound/exact_values.hpp"

#include <fmt/format.h>

namespace caesura::codec {

void pack_positions(std::span<const std::uint32_t> positions, LosslessPacker& packer, Output& out) {
    std::vector<std::uint32_t> differences;
    differences.reserve(positions.size());
    std::uint32_t previous = 0;
    for (const std::uint32_t position : positions) {
        differences.push_back(position - previous);
        previous = position;
    }
    pack_values<std::uint32_t>(differences, packer, out);
}

Status unpack_positions(std::span<const std::byte> section, std::size_t count, std::uint64_t limit,
                        LosslessUnpacker& unpacker, std::vector<std::uint32_t>& positions) {
    if (Status status = unpack_values(section, count, unpacker, positions); !status.ok())
        return status;
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (i > 0 && positions[i] == 0)
            return {StatusCode::corrupt, "positions of exact values do not ascend"};
        position += positions[i];
        if (position >= limit) {
            return {StatusCode::corrupt,
                    fmt::format("an exact value at position {} of {}", position, limit)};
        }
        positions[i] = static_cast<std::uint32_t>(position);
    }
    return {};
}

}  // namespace caesura::codec
