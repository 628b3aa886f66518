#include "codec/frame/part_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/frame/split.hpp"
#include "codec/frame/typed_view.hpp"
#include "codec/kernels/logarithm_kernels.hpp"

namespace caesura::codec {
namespace {

/// A section of one bit per value; empty if none is set.
Status unpack_mask(std::span<const std::byte> section, std::uint64_t n, LosslessUnpacker& unpacker,
                   std::vector<std::uint16_t>& mask) {
    mask.clear();
    if (section.empty()) return {};
    mask.resize(static_cast<std::size_t>((n + k_mask_values - 1) / k_mask_values));
    return unpacker.unpack(section, 1, std::as_writable_bytes(std::span(mask)));
}

/// One value over and over: what is there is copied behind itself, twice as much each time.
void fill(std::span<const std::byte> value, std::span<std::byte> values) {
    constexpr std::size_t k_most = std::size_t{1} << 14;  // stays in the first cache
    if (values.empty()) return;
    std::memcpy(values.data(), value.data(), value.size());
    for (std::size_t done = value.size(); done < values.size();) {
        const std::size_t n = std::min(
            {done, k_most / value.size() * value.size() + value.size(), values.size() - done});
        std::memcpy(&values[done], values.data(), n);
        done += n;
    }
}

/// The set that a part names by its id.
Result<TableSet> pick_tables(std::uint64_t id, const TableSet* tables) {
    if (id == 0) return TableSet();
    if (tables == nullptr) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("the frame needs table set {:016x} and none was given; pass the "
                                  "field's set of that dump",
                                  id));
    }
    if (tables->id() != id) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("the frame needs table set {:016x}, the one given is {:016x}; "
                                  "pass the field's set of that dump",
                                  id, tables->id()));
    }
    return *tables;
}

}  // namespace

template <class T>
struct PartDecoder::Typed {
    ExactValues<T> exact;
    std::vector<T> overrides;
    std::vector<T> aligned;  // where the caller's values do not lie where a T may
    std::vector<std::uint16_t> negative;
    std::vector<std::uint16_t> zero;
};

PartDecoder::PartDecoder(PredictorScratch& scratch)
    : scratch_(scratch),
      float_(std::make_unique<Typed<float>>()),
      double_(std::make_unique<Typed<double>>()) {}

PartDecoder::~PartDecoder() = default;

Status PartDecoder::decode(std::span<const std::byte> part, const FrameHeader& header,
                           const Shape& shape, const TableSet* tables,
                           std::span<std::byte> values) {
    if (!is_split(part)) return decode_region(part, header, shape, tables, values);
    if (header.untyped ||
        (header.version != k_split_frame_version && header.version != k_adaptive_frame_version))
        return corrupt_part("it is cut, in a frame that has no such parts");
    const auto regions = regions_of(part, shape);
    if (!regions.ok()) return regions.status();
    const std::size_t value_bytes = header.value_bytes();
    const Box slab{Shape::filled(shape.rank(), 0), shape};
    for (const Region& region : *regions) {
        const auto bytes = static_cast<std::size_t>(region.box.extent.count()) * value_bytes;
        const std::byte* const dense = dense_part(region.box, slab, values.data(), value_bytes);
        if (dense == nullptr) region_.resize(bytes);
        const auto own =
            dense != nullptr
                ? values.subspan(static_cast<std::size_t>(dense - values.data()), bytes)
                : std::span(region_);
        Status status = decode_region(region.part, header, region.box.extent, tables, own);
        if (!status.ok()) return status;
        if (dense == nullptr)
            copy_box(region.box, region.box, own.data(), slab, values.data(), value_bytes);
    }
    return {};
}

Status PartDecoder::decode_region(std::span<const std::byte> part, const FrameHeader& header,
                                  const Shape& shape, const TableSet* tables,
                                  std::span<std::byte> values) {
    const auto content = part.subspan(1);
    const auto kind = static_cast<PartKind>(std::to_integer<std::uint8_t>(part[0]));
    const std::size_t value_bytes = header.value_bytes();
    switch (kind) {
        case PartKind::raw:
            if (content.size() != values.size())
                return corrupt_part(
                    fmt::format("{} raw bytes instead of {}", content.size(), values.size()));
            if (!values.empty()) std::memcpy(values.data(), content.data(), values.size());
            return {};
        case PartKind::lossless:
            return unpacker_.unpack(content, value_bytes, values);
        case PartKind::constant:
            if (content.size() != value_bytes || values.size() % value_bytes != 0)
                return corrupt_part("a constant of the wrong size");
            fill(content, values);
            return {};
        case PartKind::integers:
            return decode_integers(part, header, shape, tables, values);
        case PartKind::lorenzo:
        case PartKind::interpolation:
        case PartKind::split:  // of which no region is
            break;
    }
    if (is_integer(header.dtype)) return corrupt_part("floating-point values among integers");
    if (header.untyped) return corrupt_part("predicted values in a frame of bytes");
    auto lossy = read_part(part, shape);
    if (!lossy.ok()) return lossy.status();
    if (lossy->header.coding == Coding::adaptive && header.version != k_adaptive_frame_version)
        return corrupt_part("adaptive coding, in a frame that has no such parts");
    const auto set = pick_tables(lossy->header.table_set_id, tables);
    if (!set.ok()) return set.status();
    if (header.dtype == DType::float32) return decode_lossy(*lossy, shape, *set, *float_, values);
    return decode_lossy(*lossy, shape, *set, *double_, values);
}

Status PartDecoder::decode_integers(std::span<const std::byte> part, const FrameHeader& header,
                                    const Shape& shape, const TableSet* tables,
                                    std::span<std::byte> values) {
    if (header.untyped || !is_integer(header.dtype))
        return corrupt_part("integers in a frame of something else");
    const auto integers = read_integer_part(part, shape.count(), header.value_bytes());
    if (!integers.ok()) return integers.status();
    const auto set = pick_tables(integers->head.table_set_id, tables);
    if (!set.ok()) return set.status();
    return integers_.decode(*integers, header.value_bytes(), *set, unpacker_, values);
}

template <class T>
Status PartDecoder::decode_lossy(const Part& part, const Shape& shape, const TableSet& tables,
                                 Typed<T>& typed, std::span<std::byte> values) {
    const std::size_t n = values.size() / sizeof(T);
    const bool aligned = is_aligned<T>(values.data());
    if (!aligned) typed.aligned.resize(n);
    T* target = aligned ? reinterpret_cast<T*>(values.data()) : typed.aligned.data();
    Status status = decode_codes(part, shape, tables, typed, target);
    if (status.ok() && part.header.logarithm)
        status = undo_logarithm(part, typed, std::span<T>(target, n));
    if (status.ok() && part.header.overrides)
        status = put_overrides(part, typed, std::span<T>(target, n));
    if (status.ok() && !aligned) std::memcpy(values.data(), target, values.size());
    return status;
}

template <class T>
Status PartDecoder::decode_codes(const Part& part, const Shape& shape, const TableSet& tables,
                                 Typed<T>& typed, T* values) {
    const PartHeader& header = part.header;
    const bool lorenzo = header.kind == PartKind::lorenzo;
    const Quantiser<T> quantiser{static_cast<T>(header.step), static_cast<T>(header.bound)};
    if (static_cast<double>(quantiser.step) != header.step ||
        static_cast<double>(quantiser.bound) != header.bound)
        return corrupt_part("a step or bound that its type does not have");
    Status status = unpack_values(part[Section::exact_values], header.exact_count, unpacker_,
                                  typed.exact.values);
    if (!status.ok()) return status;
    // Interpolation marks its exact values among the codes and needs no positions.
    status = unpack_positions(part[Section::exact_positions], lorenzo ? header.exact_count : 0,
                              shape.count(), unpacker_, typed.exact.positions);
    if (!status.ok()) return status;
    auto& decoder = decoders_[static_cast<std::size_t>(header.coding)];
    if (decoder == nullptr) decoder = make_entropy_decoder(header.coding);
    status = decoder->open(part[Section::codes], shape.count(), tables);
    if (!status.ok()) return status;
    CodeReader codes(*decoder);
    status = lorenzo ? decode_lorenzo(values, shape, quantiser, header.lorenzo, scratch_, codes,
                                      typed.exact)
                     : decode_interpolation(values, shape, quantiser, header.interpolation,
                                            scratch_, codes, typed.exact);
    const Status closed = decoder->close();
    return status.ok() ? closed : status;
}

template <class T>
Status PartDecoder::undo_logarithm(const Part& part, Typed<T>& typed, std::span<T> values) {
    const PartHeader& header = part.header;
    Status status = unpack_mask(part[Section::signs], values.size(), unpacker_, typed.negative);
    if (!status.ok()) return status;
    status = unpack_mask(part[Section::zeros], values.size(), unpacker_, typed.zero);
    if (!status.ok()) return status;
    backward_logarithm(values.data(), values.size(), header.centre,
                       typed.negative.empty() ? nullptr : typed.negative.data(),
                       typed.zero.empty() ? nullptr : typed.zero.data(), values.data());
    return {};
}

template <class T>
Status PartDecoder::put_overrides(const Part& part, Typed<T>& typed, std::span<T> values) {
    const std::size_t count = part.header.override_count;
    Status status =
        unpack_values(part[Section::override_values], count, unpacker_, typed.overrides);
    if (!status.ok()) return status;
    status = unpack_positions(part[Section::override_positions], count, values.size(), unpacker_,
                              positions_);
    if (!status.ok()) return status;
    for (std::size_t i = 0; i < positions_.size(); ++i) values[positions_[i]] = typed.overrides[i];
    return {};
}

}  // namespace caesura::codec
