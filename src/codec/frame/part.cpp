// The head of a lossy part and its sections, byte by byte.
#include <fmt/format.h>

#include <cmath>

#include "codec/frame/byte_io.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::codec {
namespace {

constexpr std::uint8_t k_flag_own_tables = 1;
constexpr std::uint8_t k_flag_logarithm = 2;
constexpr std::uint8_t k_flag_overrides = 4;
constexpr std::uint8_t k_flags = 7;
constexpr std::size_t k_settings_bytes = 16;

std::size_t sections_of(const PartHeader& header) { return header.overrides ? k_sections : 3; }

void write_settings(const PartHeader& header, Output& out) {
    const std::size_t begin = out.size();
    ByteWriter writer(out);
    if (header.kind == PartKind::lorenzo) {
        writer.u8(header.lorenzo.axes);
    } else {
        const InterpolationSettings& settings = header.interpolation;
        for (const std::uint8_t axis : settings.order) writer.u8(axis);
        for (const std::uint8_t feedback : settings.feedback) writer.u8(feedback);
        writer.u8(settings.cubic).u8(settings.alpha).u8(settings.beta);
    }
    out.append_zeros(begin + k_settings_bytes - out.size());
}

Status read_settings(std::span<const std::byte> bytes, int rank, PartHeader& header) {
    ByteReader reader(bytes);
    Status status;
    if (header.kind == PartKind::lorenzo) {
        header.lorenzo.axes = reader.u8();
        status = valid(header.lorenzo, rank);
    } else {
        InterpolationSettings& settings = header.interpolation;
        for (std::uint8_t& axis : settings.order) axis = reader.u8();
        for (std::uint8_t& feedback : settings.feedback) feedback = reader.u8();
        settings.cubic = reader.u8();
        settings.alpha = reader.u8();
        settings.beta = reader.u8();
        status = valid(settings, rank);
    }
    if (!status.ok()) return corrupt_part(status.message());
    for (const std::byte unused : reader.rest())
        if (unused != std::byte{0}) return corrupt_part("settings where none are known");
    return {};
}

void write_head(const PartHeader& header, std::span<const std::uint64_t> section_bytes,
                Output& out) {
    const int flags = (header.own_tables ? k_flag_own_tables : 0) |
                      (header.logarithm ? k_flag_logarithm : 0) |
                      (header.overrides ? k_flag_overrides : 0);
    ByteWriter writer(out);
    writer.u8(static_cast<std::uint8_t>(header.kind))
        .u8(static_cast<std::uint8_t>(header.coding))
        .u8(static_cast<std::uint8_t>(flags))
        .u8(0)
        .u32(header.exact_count)
        .f64(header.step)
        .f64(header.bound)
        .u64(header.table_set_id);
    write_settings(header, out);
    if (header.overrides)
        writer.u32(static_cast<std::uint32_t>(header.centre)).u32(header.override_count);
    for (const std::uint64_t bytes : section_bytes) writer.u64(bytes);
}

/// Do the numbers of a head fit together and the slab?
Status check_head(const PartHeader& header, int flags, std::uint8_t coding, std::uint64_t count) {
    if (count >= k_most_predicted_values)
        return corrupt_part(fmt::format("{} predicted values; positions are of 32 bits", count));
    if ((flags & ~k_flags) != 0 || (header.logarithm && !header.overrides))
        return corrupt_part(fmt::format("unknown flags {:#x}", flags));
    if (coding == k_huffman_stage) return huffman_is_unsupported("part of a frame");
    if (coding >= k_codings) return corrupt_part(fmt::format("unknown coding {}", coding));
    if (!(std::isfinite(header.step) && header.step > 0 && std::isfinite(header.bound) &&
          header.bound > 0))
        return corrupt_part(fmt::format("step {} and bound {}", header.step, header.bound));
    if (header.exact_count > count || header.override_count > count)
        return corrupt_part(fmt::format("{} exact values of {}", header.exact_count, count));
    if (header.centre < -2000 || header.centre > 2000)
        return corrupt_part(fmt::format("centre {}", header.centre));
    if (header.own_tables && header.table_set_id != 0)
        return corrupt_part("it has its own tables and asks for others");
    return {};
}

}  // namespace

Status corrupt_part(std::string what) { return {StatusCode::corrupt, "part: " + std::move(what)}; }

bool is_adaptive(std::span<const std::byte> part) {
    if (part.size() < 2) return false;
    const auto kind = static_cast<PartKind>(std::to_integer<std::uint8_t>(part[0]));
    const bool lossy = kind == PartKind::lorenzo || kind == PartKind::interpolation;
    return lossy && part[1] == static_cast<std::byte>(Coding::adaptive);
}

PartWriter::PartWriter(const PartHeader& header, Output& out) : out_(out), begin_(out.size()) {
    write_head(header, std::span(section_bytes_).first(sections_of(header)), out_);
    section_begin_ = out_.size();
}

void PartWriter::end_section(Section section) {
    section_bytes_[static_cast<std::size_t>(section)] = out_.size() - section_begin_;
    section_begin_ = out_.size();
}

void PartWriter::finish(const PartHeader& header) {
    Output head;
    write_head(header, std::span(section_bytes_).first(sections_of(header)), head);
    std::memcpy(out_.data() + begin_, head.data(), head.size());
}

Result<Part> read_part(std::span<const std::byte> bytes, const Shape& shape) {
    ByteReader reader(bytes);
    Part part;
    PartHeader& header = part.header;
    header.kind = static_cast<PartKind>(reader.u8());
    if (header.kind != PartKind::lorenzo && header.kind != PartKind::interpolation)
        return corrupt_part(fmt::format("unknown kind {}", static_cast<int>(header.kind)));
    const std::uint8_t coding = reader.u8();
    const std::uint8_t flags = reader.u8();
    header.coding = static_cast<Coding>(coding);
    header.own_tables = (flags & k_flag_own_tables) != 0;
    header.logarithm = (flags & k_flag_logarithm) != 0;
    header.overrides = (flags & k_flag_overrides) != 0;
    if (reader.u8() != 0) return corrupt_part("a byte that should be 0 is not");
    header.exact_count = reader.u32();
    header.step = reader.f64();
    header.bound = reader.f64();
    header.table_set_id = reader.u64();
    const auto settings = reader.bytes(k_settings_bytes);
    if (header.overrides) {
        header.centre = static_cast<std::int32_t>(reader.u32());
        header.override_count = reader.u32();
    }
    std::array<std::uint64_t, k_sections> sizes{};
    for (std::size_t i = 0; i < sections_of(header); ++i) sizes[i] = reader.u64();
    if (reader.ended_early()) return corrupt_part("it ends within its head");
    if (Status status = check_head(header, flags, coding, shape.count()); !status.ok())
        return status;
    if (Status status = read_settings(settings, shape.rank(), header); !status.ok()) return status;
    for (std::size_t i = 0; i < k_sections; ++i) part.sections[i] = reader.bytes(sizes[i]);
    if (reader.ended_early()) return corrupt_part("its sections are longer than it");
    if (!reader.rest().empty()) return corrupt_part("it goes on after its sections");
    return part;
}

}  // namespace caesura::codec
