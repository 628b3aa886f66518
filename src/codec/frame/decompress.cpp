#include <fmt/format.h>

#include <new>
#include <stdexcept>

#include "codec/bound/float_environment.hpp"
#include "codec/frame/decode_frame.hpp"
#include "codec/frame/masked_frame.hpp"
#include "codec/frame/recode.hpp"
#include "codec/frame/split.hpp"
#include "codec/frame/workspace.hpp"

namespace caesura {
namespace codec {

Status decode_slab(const FrameLayout& layout, std::uint64_t index, const TableSet* tables,
                   std::span<std::byte> values) {
    const FloatEnvironment environment;
    const Shape shape = layout.slabs[index].shape;
    const WorkspaceLease workspace;
    const FrameHeader& header = layout.header;
    const auto part = layout.parts[static_cast<std::size_t>(index)];
    if (header.version != k_recoded_frame_version)
        return workspace->decoder.decode(part, header, shape, tables, values);
    const FrameHeader as_coded = header.as_coded();
    if (!header.widened) {  // of the same size
        Status status = workspace->decoder.decode(part, as_coded, shape, tables, values);
        if (status.ok()) decode_as(values, header.dtype, false, values);
        return status;
    }
    std::vector<std::byte> coded(static_cast<std::size_t>(shape.count()) * as_coded.value_bytes());
    Status status = workspace->decoder.decode(part, as_coded, shape, tables, coded);
    if (status.ok()) decode_as(coded, header.dtype, true, values);
    return status;
}

namespace {

Status check_size(const FrameHeader& header, std::size_t bytes) {
    if (header.raw_bytes() == bytes) return {};
    return {StatusCode::invalid_argument,
            fmt::format("the frame holds {} bytes ({} {}), the array given {}; see "
                        "read_frame_info",
                        header.raw_bytes(), to_string(header.shape),
                        header.untyped ? "bytes" : to_string(header.dtype), bytes)};
}

Status decode_masked(std::span<const std::byte> frame, std::span<std::byte> values,
                     const TableSet* tables, int threads) {
    const auto layout = read_masked(frame);
    if (!layout.ok()) return layout.status();
    if (layout->header.checksum) {
        if (Status status = verify_masked_head(frame, *layout); !status.ok()) return status;
    }
    if (Status status = check_size(layout->header, values.size()); !status.ok()) return status;
    const auto mask = unpack_mask(*layout);
    if (!mask.ok()) return mask.status();
    Status status = decode_frame(layout->inside, values, tables, threads);
    if (status.ok()) put_missing(*mask, layout->header.dtype, values);
    return status;
}

}  // namespace

Status decode_frame(std::span<const std::byte> frame, std::span<std::byte> values,
                    const TableSet* tables, int threads) {
    if (is_masked(frame)) return decode_masked(frame, values, tables, threads);
    const auto layout = read_layout(frame);
    if (!layout.ok()) return layout.status();
    const FrameHeader& header = layout->header;
    if (header.checksum) {
        if (Status status = verify_checksum(frame, *layout); !status.ok()) return status;
    }
    if (Status status = check_size(header, values.size()); !status.ok()) return status;
    if (!header.slabs) return decode_slab(*layout, 0, tables, values);
    const std::size_t value_bytes = header.value_bytes();
    return for_each_parallel(
        layout->slabs.count(), threads, [&](int, std::uint64_t index) -> Status {
            const Slab slab = layout->slabs[index];
            const auto target =
                values.subspan(static_cast<std::size_t>(slab.first) * value_bytes,
                               static_cast<std::size_t>(slab.shape.count()) * value_bytes);
            Status status;
            if (header.checksum) status = verify_part(*layout, index);
            if (status.ok()) status = decode_slab(*layout, index, tables, target);
            return status.ok() ? status : status.with_context(fmt::format("slab {}", index));
        });
}

namespace {

/// Add what one part says to what its frame says.
/// @param coded  the header that is about the parts.
Status describe_part(std::span<const std::byte> bytes, const Shape& shape, const FrameHeader& coded,
                     FrameInfo& info, bool& lossy_seen) {
    const auto kind = static_cast<PartKind>(std::to_integer<std::uint8_t>(bytes[0]));
    if (kind == PartKind::raw || kind == PartKind::lossless || kind == PartKind::constant)
        return {};
    if (kind == PartKind::integers) {
        if (!is_integer(coded.dtype)) return corrupt_part("integers in a frame of something else");
        const auto integers = read_integer_part(bytes, shape.count(), coded.value_bytes());
        if (!integers.ok()) return integers.status();
        info.inline_tables = info.inline_tables || integers->head.own_tables;
        if (integers->head.table_set_id != 0) info.table_set_id = integers->head.table_set_id;
        return {};
    }
    const auto part = read_part(bytes, shape);
    if (!part.ok()) return part.status();
    const PartHeader& header = part->header;
    if (!lossy_seen) {
        lossy_seen = true;
        info.absolute_bound = header.logarithm ? 0 : header.bound;
        info.mode = header.coding == Coding::planes          ? Mode::planes
                    : header.kind == PartKind::interpolation ? Mode::strong
                                                             : Mode::fast;
    }
    info.inline_tables = info.inline_tables || header.own_tables;
    if (header.table_set_id != 0) info.table_set_id = header.table_set_id;
    info.exact_values += std::uint64_t{header.exact_count} + header.override_count;
    return {};
}

Status describe_slab(std::span<const std::byte> bytes, const Shape& shape, const FrameHeader& coded,
                     FrameInfo& info, bool& lossy_seen) {
    const auto regions = regions_of(bytes, shape);
    if (!regions.ok()) return regions.status();
    info.regions += regions->size();
    for (const Region& region : *regions) {
        Status status = describe_part(region.part, region.box.extent, coded, info, lossy_seen);
        if (!status.ok()) return status;
    }
    return {};
}

/// What the frame inside says, but for what the mask adds.
Result<FrameInfo> masked_frame_info(std::span<const std::byte> frame) {
    const auto layout = read_masked(frame);
    if (!layout.ok()) return layout.status();
    auto info = read_frame_info(layout->inside);
    if (!info.ok()) return info;
    info->version = layout->header.version;
    info->bound = layout->header.bound;
    info->checksum = layout->header.checksum && info->checksum;
    info->missing_values = layout->missing;
    return info;
}

}  // namespace
}  // namespace codec

Status decompress(std::span<const std::byte> frame, std::span<std::byte> values,
                  const TableSet* tables, int threads) {
    try {
        return codec::decode_frame(frame, values, tables, threads);
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space, "not enough memory to decompress a frame"};
    } catch (const std::length_error&) {
        return {StatusCode::no_space, "a frame asks for more memory than can be addressed"};
    }
}

Result<FrameInfo> read_frame_info(std::span<const std::byte> frame) {
    try {
        if (codec::is_masked(frame)) return codec::masked_frame_info(frame);
        const auto layout = codec::read_layout(frame);
        if (!layout.ok()) return layout.status();
        const codec::FrameHeader& header = layout->header;
        FrameInfo info;
        info.version = header.version;
        info.dtype = header.dtype;
        info.shape = header.shape;
        info.raw_bytes = header.raw_bytes();
        info.value_bytes = header.value_bytes();
        info.untyped = header.untyped;
        info.bound = header.bound;
        info.checksum = header.checksum;
        info.slabs = layout->parts.size();
        info.regions = 0;
        bool lossy = false;
        for (std::size_t i = 0; i < layout->parts.size(); ++i) {
            const Status status = codec::describe_slab(layout->parts[i], layout->slabs[i].shape,
                                                       header.as_coded(), info, lossy);
            if (!status.ok()) return status;
        }
        info.stored_exactly = !lossy;
        return info;
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::no_space, "not enough memory to read a frame");
    }
}

}  // namespace caesura
