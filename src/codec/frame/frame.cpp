#include "codec/frame/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/bound/missing.hpp"
#include "codec/frame/byte_io.hpp"
#include "codec/frame/recode.hpp"
#include "codec/frame/split.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint32_t k_magic = 0x5246438aU;  // 8a 43 46 52, "\x8aCFR"
constexpr std::size_t k_version_at = 4;
constexpr std::size_t k_checksum_at = 8;
constexpr std::size_t k_checksum_end = 16;
constexpr std::uint8_t k_flag_checksum = 1;
constexpr std::uint8_t k_flag_slabs = 2;
constexpr std::uint8_t k_widened = 0x80;  // of the type
constexpr std::size_t k_slab_table_head_bytes = 12;
constexpr std::size_t k_slab_entry_bytes = 16;

Status corrupt_frame(std::string what) {
    return {StatusCode::corrupt, "frame: " + std::move(what)};
}

std::uint64_t load_u64(std::span<const std::byte> bytes, std::size_t at) {
    return ByteReader(bytes.subspan(at)).u64();
}

void store_u64(std::span<std::byte> bytes, std::size_t at, std::uint64_t value) {
    base::put_little(bytes.subspan(at, 8).data(), value, 8);
}

/// Over the rest of the frame, or of its head if slabs have checksums of their own. What lies
/// before the checksum is the seed.
std::uint64_t checksum_of(std::span<const std::byte> frame, const FrameLayout& layout) {
    const std::size_t end =
        layout.header.slabs
            ? layout.header.header_bytes() + k_slab_table_head_bytes +
                  k_slab_entry_bytes * static_cast<std::size_t>(layout.slabs.count())
            : frame.size();
    const auto covered = frame.subspan(k_checksum_end, end - k_checksum_end);
    return checksum(covered, load_u64(frame, 0));
}

/// What a frame of this type has as its version; of float32 and float64 what its parts ask for.
std::uint8_t version_of(DType dtype, std::uint8_t found) {
    if (found == k_masked_frame_version && may_have_missing(dtype)) return found;
    if (is_recoded(dtype)) return k_recoded_frame_version;
    if (is_integer(dtype)) return k_integer_frame_version;
    const bool known = dtype == DType::float32 || dtype == DType::float64;
    if (!known) return 0;
    const bool has_more = found == k_split_frame_version || found == k_adaptive_frame_version;
    return has_more ? found : k_frame_version;
}

Status check_shape(const FrameHeader& header) {
    const Shape& shape = header.shape;
    if (header.untyped) {
        if (shape[0] > std::numeric_limits<std::uint64_t>::max() / 2 || shape[1] < 1 ||
            shape[1] > 65536)
            return corrupt_frame(fmt::format("{} bytes of values of {}", shape[0], shape[1]));
        return {};
    }
    // As they are coded they may take more than as they are.
    const std::size_t value_bytes =
        std::max(size_of(header.dtype), size_of(header.as_coded().dtype));
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / 2 / value_bytes;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] < 1 || shape[axis] > most)
            return corrupt_frame(fmt::format("shape {} is impossible", to_string(shape)));
        most /= shape[axis];
    }
    return {};
}

}  // namespace

FrameHeader FrameHeader::as_coded() const {
    FrameHeader coded = *this;
    if (version != k_recoded_frame_version) return coded;
    coded.dtype = coded_type(dtype, widened);
    // Parts of all kinds that such values have.
    coded.version = widened ? k_adaptive_frame_version : k_integer_frame_version;
    coded.widened = false;
    return coded;
}

void write_header(const FrameHeader& header, Output& out) {
    const int flags = (header.checksum ? k_flag_checksum : 0) | (header.slabs ? k_flag_slabs : 0);
    const int kind = static_cast<int>(header.bound.kind) | header.shape.rank() << 4;
    ByteWriter writer(out);
    writer.u32(k_magic)
        .u8(header.version)
        .u8(static_cast<std::uint8_t>(flags))
        .u8(header.untyped ? std::uint8_t{0}
                           : static_cast<std::uint8_t>(static_cast<unsigned>(header.dtype) |
                                                       (header.widened ? k_widened : 0U)))
        .u8(static_cast<std::uint8_t>(kind))
        .u64(0)
        .f64(header.bound.kind == ErrorBound::Kind::lossless ? 0.0 : header.bound.value);
    for (int axis = 0; axis < header.shape.rank(); ++axis) writer.u64(header.shape[axis]);
}

Status stamp_version(std::span<std::byte> frame) {
    const auto layout = read_layout(frame);
    if (!layout.ok()) return layout.status();
    if (layout->header.version != k_frame_version) return {};  // it has all kinds
    std::uint8_t version = k_frame_version;
    for (std::uint64_t i = 0; i < layout->slabs.count(); ++i) {
        const auto part = layout->parts[static_cast<std::size_t>(i)];
        const auto regions = regions_of(part, layout->slabs[i].shape);
        if (!regions.ok()) return regions.status();
        if (is_split(part)) version = std::max(version, k_split_frame_version);
        for (const Region& region : *regions)
            if (is_adaptive(region.part)) version = k_adaptive_frame_version;
    }
    frame[k_version_at] = std::byte{version};
    return {};
}

Status seal(std::span<std::byte> frame) {
    const auto layout = read_layout(frame);
    if (!layout.ok()) return layout.status();
    if (layout->header.checksum) store_u64(frame, k_checksum_at, checksum_of(frame, *layout));
    return {};
}

Result<FrameHeader> read_header(std::span<const std::byte> frame) {
    ByteReader reader(frame);
    FrameHeader header;
    if (reader.u32() != k_magic && !reader.ended_early())
        return corrupt_frame("it does not begin as a frame of Caesura does");
    header.version = reader.u8();
    if (!reader.ended_early() &&
        (header.version < k_frame_version || header.version > k_last_frame_version)) {
        return Status(StatusCode::unsupported,
                      fmt::format("frame: it has format version {}, this library reads versions {} "
                                  "to {}; use a later Caesura",
                                  header.version, k_frame_version, k_last_frame_version));
    }
    const std::uint8_t flags = reader.u8();
    const std::uint8_t type = reader.u8();
    const std::uint8_t kind = reader.u8();
    const std::uint64_t checksum = reader.u64();
    header.bound = {static_cast<ErrorBound::Kind>(kind & 0x0f), reader.f64()};
    header.checksum = (flags & k_flag_checksum) != 0;
    header.slabs = (flags & k_flag_slabs) != 0;
    header.untyped = type == 0;
    if (!header.untyped) header.dtype = static_cast<DType>(type & ~k_widened);
    header.widened = (type & k_widened) != 0;
    const int rank = kind >> 4;
    header.shape = Shape::filled(std::clamp(rank, 1, k_max_rank), 0);
    for (int axis = 0; axis < header.shape.rank(); ++axis) header.shape[axis] = reader.u64();
    if (reader.ended_early()) {
        return Status(StatusCode::insufficient_data,
                      fmt::format("frame: {} bytes are not even a header", frame.size()));
    }
    if ((flags & ~(k_flag_checksum | k_flag_slabs)) != 0)
        return corrupt_frame(fmt::format("unknown flags {:#x}", flags));
    if (header.untyped ? header.version > k_split_frame_version
                       : header.version != version_of(header.dtype, header.version))
        return corrupt_frame(
            fmt::format("unknown data type {} in format version {}", type, header.version));
    if (rank < 1 || rank > k_max_rank || (header.untyped && (rank != 2 || header.slabs)))
        return corrupt_frame(fmt::format("{} axes", rank));
    if (!header.checksum && checksum != 0) return corrupt_frame("it has a checksum but denies it");
    if (const Status status = validate(header.bound); !status.ok())
        return corrupt_frame(status.message());
    if (header.version == k_masked_frame_version &&
        (header.slabs || header.widened || header.bound.kind == ErrorBound::Kind::lossless))
        return corrupt_frame("a mask around no plain frame with a bound");
    if (header.widened && (header.untyped || !is_short_float(header.dtype)))
        return corrupt_frame(fmt::format("data type {} is none that is coded as float32", type));
    if ((header.untyped || is_integer(header.dtype)) &&
        header.bound.kind != ErrorBound::Kind::lossless)
        return corrupt_frame("bytes or integers with an error bound");
    if (Status status = check_shape(header); !status.ok()) return status;
    return header;
}

Status verify_checksum(std::span<const std::byte> frame, const FrameLayout& layout) {
    const std::uint64_t found = checksum_of(frame, layout);
    const std::uint64_t stored = load_u64(frame, k_checksum_at);
    if (found == stored) return {};
    return corrupt_frame(
        fmt::format("its checksum is {:016x}, its bytes give {:016x}", stored, found));
}

std::uint64_t part_checksum(std::span<const std::byte> part, std::uint64_t index) {
    return checksum(part, index);
}

Status verify_part(const FrameLayout& layout, std::uint64_t index) {
    const auto at = static_cast<std::size_t>(index);
    const std::uint64_t found = part_checksum(layout.parts[at], index);
    const std::uint64_t stored = layout.part_checksums[at];
    if (found == stored) return {};
    return corrupt_frame(fmt::format("the checksum of slab {} is {:016x}, its bytes give {:016x}",
                                     index, stored, found));
}

void write_slab_table(const Slabs& slabs, Output& out) {
    ByteWriter(out).u32(static_cast<std::uint32_t>(slabs.cut().axis)).u64(slabs.cut().thickness);
    out.append_zeros(k_slab_entry_bytes * static_cast<std::size_t>(slabs.count()));
}

void set_part(std::span<std::byte> frame, const FrameHeader& header, std::uint64_t index,
              std::uint64_t part_bytes, std::uint64_t checksum) {
    const std::size_t entry = header.header_bytes() + k_slab_table_head_bytes +
                              k_slab_entry_bytes * static_cast<std::size_t>(index);
    store_u64(frame, entry, part_bytes);
    store_u64(frame, entry + 8, header.checksum ? checksum : 0);
}

Result<FrameLayout> read_layout(std::span<const std::byte> frame) {
    auto header = read_header(frame);
    if (!header.ok()) return header.status();
    if (header->version == k_masked_frame_version)
        return corrupt_frame("it is masked where a plain one is expected");
    FrameLayout layout;
    layout.header = *header;
    const auto ends_early = [&] {
        return Status(StatusCode::insufficient_data,
                      fmt::format("frame: it is longer than the {} bytes given", frame.size()));
    };
    ByteReader reader(frame.subspan(layout.header.header_bytes()));
    if (!layout.header.slabs) {
        // Untyped bytes may be none; Slabs wants at least one value and is not asked for more.
        layout.slabs = Slabs::one(layout.header.untyped ? Shape{1} : layout.header.shape);
        if (reader.rest().empty()) return ends_early();
        layout.parts.push_back(reader.rest());
        return layout;
    }
    SlabCut cut;
    cut.axis = static_cast<int>(std::min<std::uint32_t>(reader.u32(), k_max_rank));
    cut.thickness = reader.u64();
    if (reader.ended_early()) return ends_early();
    auto slabs = Slabs::make(layout.header.shape, cut);
    if (!slabs.ok()) return slabs.status();
    layout.slabs = *slabs;
    // Each slab has its entry in the table and at least one byte of its own; only then is memory
    // taken.
    const std::uint64_t count = layout.slabs.count();
    if (count > reader.rest().size() / (k_slab_entry_bytes + 1)) return ends_early();
    ByteReader parts(reader.rest().subspan(k_slab_entry_bytes * static_cast<std::size_t>(count)));
    layout.parts.reserve(static_cast<std::size_t>(count));
    layout.part_checksums.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        layout.parts.push_back(parts.bytes(reader.u64()));
        layout.part_checksums.push_back(reader.u64());
        if (parts.ended_early()) return ends_early();
        if (!layout.header.checksum && layout.part_checksums.back() != 0)
            return corrupt_frame(fmt::format("slab {} has a checksum but the frame denies it", i));
        if (layout.parts.back().empty())
            return corrupt_frame(fmt::format("slab {} has no bytes", i));
    }
    if (!parts.rest().empty()) return corrupt_frame("it goes on after its end");
    return layout;
}

}  // namespace caesura::codec
