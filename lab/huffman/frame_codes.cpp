#include "huffman/frame_codes.hpp"

#include <algorithm>

#include "codec/entropy/entropy.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::lab::huffman {
namespace {

using namespace codec;  // NOLINT: this file takes the codec's frames apart

bool is_lossy(std::span<const std::byte> part) {
    const auto kind = static_cast<PartKind>(std::to_integer<std::uint8_t>(part[0]));
    return kind == PartKind::lorenzo || kind == PartKind::interpolation;
}

Status take_codes(const Part& part, std::size_t n, const TableSet& tables, FrameCodes& out) {
    const auto decoder = make_entropy_decoder(part.header.coding);
    Status status = decoder->open(part[Section::codes], n, tables);
    if (!status.ok()) return status;
    std::vector<std::uint32_t> codes(n);
    CodeReader reader(*decoder);
    for (std::size_t i = 0; i < n; i += k_chunk_values) {
        const std::size_t run = std::min(k_chunk_values, n - i);
        std::copy_n(reader.take(run), run, codes.data() + i);
    }
    status = decoder->close();
    if (!status.ok()) return status;
    out.slabs.push_back(std::move(codes));
    out.section_bytes += part[Section::codes].size();
    return {};
}

}  // namespace

Result<FrameCodes> codes_of(std::span<const std::byte> frame, const TableSet* tables) {
    const auto layout = read_layout(frame);
    if (!layout.ok()) return layout.status();
    const TableSet built_in;
    FrameCodes out;
    for (std::size_t i = 0; i < layout->parts.size(); ++i) {
        if (!is_lossy(layout->parts[i])) continue;
        const Shape shape = layout->slabs[i].shape;
        const auto part = read_part(layout->parts[i], shape);
        if (!part.ok()) return part.status();
        if (part->header.coding != Coding::rans) continue;
        const TableSet& wanted = tables != nullptr ? *tables : built_in;
        if (part->header.table_set_id != 0 && part->header.table_set_id != wanted.id()) {
            return Status(StatusCode::invalid_argument, "the frame needs its shared table set");
        }
        Status status = take_codes(*part, static_cast<std::size_t>(shape.count()), wanted, out);
        if (!status.ok()) return status;
    }
    return out;
}

}  // namespace caesura::lab::huffman
