#include "codec/frame/masked_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "codec/bound/exact_values.hpp"
#include "codec/bound/fill_holes.hpp"
#include "codec/bound/float_environment.hpp"
#include "codec/frame/byte_io.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = ErrorBound::Kind;

constexpr std::size_t k_mask_version_at = 4, k_head_checksum_at = 8, k_head_checksum_end = 16;

Status corrupt_mask(std::string what) {
    return {StatusCode::corrupt, "frame: mask: " + std::move(what)};
}

/// A PSNR is a mean over the values that are there. Errors of filled holes only add to the sum, so
/// the mean over all has to be smaller by the share of those that are there.
ErrorBound over_all(const ErrorBound& bound, std::uint64_t all, std::uint64_t there) {
    if (bound.kind != Kind::psnr || there == 0) return bound;
    double ratio = static_cast<double>(all) / static_cast<double>(there);
    double log2 = 0;
    for (; ratio >= 2; ratio /= 2) log2 += 1;
    log2 += log2_1p(ratio - 1);
    constexpr double k_10_log10_2 = 3.0102999566398119521;
    constexpr double k_more = 1e-9, k_most = 399;
    const double decibels = bound.value + log2 * k_10_log10_2 + k_more;
    return decibels < k_most ? psnr(decibels) : lossless();
}

std::uint64_t head_checksum(Bytes frame, std::size_t head_bytes) {
    return checksum(frame.subspan(k_head_checksum_end, head_bytes - k_head_checksum_end),
                    base::ByteReader(frame).u64());
}

}  // namespace

std::uint64_t index_in(const Box& array_box, const Box& part, std::uint64_t index) {
    std::uint64_t at = 0;
    std::uint64_t apart = 1;
    for (int axis = part.extent.rank() - 1; axis >= 0; --axis) {
        const std::uint64_t i = index % part.extent[axis];
        index /= part.extent[axis];
        at += (part.offset[axis] - array_box.offset[axis] + i) * apart;
        apart *= array_box.extent[axis];
    }
    return at;
}

bool looks_masked(const std::byte* array, DType dtype, const Box& array_box, const Box& part,
                  const ErrorBound& bound, const CompressOptions& options) {
    if (bound.kind == Kind::lossless || !may_have_missing(dtype)) return false;
    if (options.missing.empty() && !options.find_suspects) return false;
    constexpr std::uint64_t k_most = 256;
    const std::size_t width = size_of(dtype);
    const std::uint64_t count = part.extent.count(), n = std::min(count, k_most);
    if (n == 0) return false;
    std::vector<std::byte> sample(static_cast<std::size_t>(n) * width);
    const std::uint64_t apart = count / n, step = 7919 % apart;
    const bool is_whole = part.extent == array_box.extent;
    std::uint64_t within = 0;  // i * 7919 % apart
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t index = apart * i + within;
        const std::uint64_t at = is_whole ? index : index_in(array_box, part, index);
        std::memcpy(&sample[static_cast<std::size_t>(i) * width], array + at * width, width);
        within += step;
        if (within >= apart) within -= apart;
    }
    return sample_has_missing(sample, dtype, bits_of(options.missing, dtype));
}

std::optional<MaskedArray> without_missing(Bytes values, DType dtype, const Shape& shape,
                                           const ErrorBound& bound, const CompressOptions& options,
                                           std::optional<FiniteRange>* range) {
    if (bound.kind == Kind::lossless || !may_have_missing(dtype)) return std::nullopt;
    const FloatEnvironment environment;
    ValueBits bits = bits_of(options.missing, dtype);
    const Box whole{Shape::filled(shape.rank(), 0), shape};
    const bool needs_range = bound.kind == Kind::relative || bound.kind == Kind::psnr;
    if (options.find_suspects &&
        (needs_range || looks_masked(values.data(), dtype, whole, whole, bound, options))) {
        const Findings found = look_for_missing(values, dtype, bits, options.threads);
        if (range != nullptr && !is_short_float(dtype)) *range = found.range;
        unite(bits, found.suspects);
    }
    if (bits.size() > k_most_missing) return MaskedArray{{}, {}, bound};
    MaskedArray array{find_missing(values, dtype, bits), {}, bound};
    if (array.mask.missing == 0) return std::nullopt;
    array.filled.assign(values.begin(), values.end());
    const bool lorenzo = options.mode == Mode::fast || options.mode == Mode::planes;
    fill_holes(array.filled, dtype, shape, array.mask,
               lorenzo ? HoleFilling::repeat : HoleFilling::smooth);
    array.bound = over_all(bound, shape.count(), shape.count() - array.mask.missing);
    return array;
}

void write_masked_head(const FrameHeader& header, const Mask& mask, Output& out) {
    const std::size_t begin = out.size();
    write_header(header, out);
    LosslessPacker packer;
    Output lengths, labels;
    pack_values<std::uint32_t>(mask.lengths, packer, lengths);
    pack_values<std::uint8_t>(mask.labels, packer, labels);
    ByteWriter(out)
        .u32(static_cast<std::uint32_t>(mask.values.size()))
        .u32(0)
        .u64(mask.missing)
        .u64(mask.labels.size())
        .u64(lengths.size())
        .u64(labels.size());
    out.append(values_of(mask.values, header.dtype));
    out.append(lengths.bytes());
    out.append(labels.bytes());
    if (!header.checksum) return;
    const auto head = out.bytes().subspan(begin);
    base::put_little(head.subspan(k_head_checksum_at, 8).data(), head_checksum(head, head.size()),
                     8);
}

bool is_masked(Bytes frame) {
    constexpr std::byte k_frame_magic[] = {std::byte{0x8a}, std::byte{'C'}, std::byte{'F'},
                                           std::byte{'R'}};
    return frame.size() > k_mask_version_at &&
           std::memcmp(frame.data(), k_frame_magic, sizeof k_frame_magic) == 0 &&
           frame[k_mask_version_at] == std::byte{k_masked_frame_version};
}

Result<MaskedLayout> read_masked(Bytes frame) {
    const auto header = read_header(frame);
    if (!header.ok()) return header.status();
    MaskedLayout layout;
    layout.header = *header;
    ByteReader reader(frame.subspan(header->header_bytes()));
    const std::uint32_t values = reader.u32();
    const std::uint32_t nothing = reader.u32();
    layout.missing = reader.u64();
    layout.runs = reader.u64();
    const std::uint64_t length_bytes = reader.u64(), label_bytes = reader.u64();
    const auto ends_early = [&] {
        return Status(StatusCode::insufficient_data,
                      fmt::format("frame: it is longer than the {} bytes given", frame.size()));
    };
    if (reader.ended_early()) return ends_early();
    if (values < 1 || values > k_most_missing || nothing != 0)
        return corrupt_mask(fmt::format("{} missing values", values));
    const std::uint64_t count = header->shape.count();
    if (layout.missing < 1 || layout.missing > count || layout.runs < 1 || layout.runs > count)
        return corrupt_mask(
            fmt::format("{} places in {} runs of {} values", layout.missing, layout.runs, count));
    const Bytes bits = reader.bytes(values * header->value_bytes());
    layout.lengths = reader.bytes(length_bytes);
    layout.labels = reader.bytes(label_bytes);
    if (reader.ended_early()) return ends_early();
    layout.values = bits_of(bits, header->dtype);
    if (values_of(layout.values, header->dtype) != std::vector(bits.begin(), bits.end()))
        return corrupt_mask("its values do not ascend");
    layout.inside = reader.rest();
    layout.head_bytes = frame.size() - layout.inside.size();
    const auto inside = read_header(layout.inside);
    if (!inside.ok()) return inside.status();
    if (inside->version == k_masked_frame_version || inside->untyped ||
        inside->dtype != header->dtype || inside->shape != header->shape)
        return corrupt_mask("the frame inside is one of another array");
    return layout;
}

Result<Mask> unpack_mask(const MaskedLayout& layout) {
    Mask mask;
    LosslessUnpacker unpacker;
    const auto runs = static_cast<std::size_t>(layout.runs);
    for (const Status& status : {unpack_values(layout.lengths, runs, unpacker, mask.lengths),
                                 unpack_values(layout.labels, runs, unpacker, mask.labels)})
        if (!status.ok()) return status.with_context("frame: mask");
    std::uint64_t left = layout.header.shape.count(), missing = 0;
    for (std::size_t run = 0; run < runs; ++run) {
        if (mask.lengths[run] < 1 || mask.lengths[run] > left)
            return corrupt_mask(
                fmt::format("run {} has {} values, {} are left", run, mask.lengths[run], left));
        if (mask.labels[run] > layout.values.size())
            return corrupt_mask(fmt::format("run {} is of missing value {} of {}", run,
                                            mask.labels[run], layout.values.size()));
        left -= mask.lengths[run];
        if (mask.labels[run] != 0) missing += mask.lengths[run];
    }
    if (left != 0 || missing != layout.missing)
        return corrupt_mask(fmt::format("its runs leave {} values, and {} are missing, not {}",
                                        left, missing, layout.missing));
    mask.values = layout.values;
    mask.missing = missing;
    return mask;
}

Status verify_masked_head(Bytes frame, const MaskedLayout& layout) {
    const std::uint64_t found = head_checksum(frame, layout.head_bytes);
    const std::uint64_t stored = base::ByteReader(frame.subspan(k_head_checksum_at)).u64();
    if (found == stored) return {};
    return corrupt_mask(
        fmt::format("its checksum is {:016x}, its bytes give {:016x}", stored, found));
}

}  // namespace caesura::codec
