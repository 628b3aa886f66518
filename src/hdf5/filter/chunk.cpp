// Chunks to frames and back: what the HDF5 filter does, without HDF5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "codec/bundle/bundle.hpp"
#include "codec/packed/packed.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/filter/kept_chunk.hpp"
#include "hdf5/filter/repeatable.hpp"

namespace caesura::hdf5 {
namespace {

constexpr std::uint64_t k_hdf5_chunk_limit_bytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t k_largest_value_bytes = 65536;  // of compress_bytes

using Bytes = std::span<const std::byte>;

bool is_float(const Settings& settings) {
    return settings.element != Element::unknown && settings.element != Element::bytes;
}

DType dtype_of(const Settings& settings) {
    switch (settings.element) {
        case Element::float32:
            return DType::float32;
        case Element::float16:
            return DType::float16;
        case Element::bfloat16:
            return DType::bfloat16;
        default:
            return DType::float64;
    }
}

/// The file's values have the other byte order than this machine's.
bool is_swapped(const Settings& settings) {
    return is_float(settings) && settings.big_endian != (std::endian::native == std::endian::big);
}

void swap_values(std::span<std::byte> values, std::size_t value_bytes) {
    for (std::size_t at = 0; at + value_bytes <= values.size(); at += value_bytes)
        std::reverse(values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.begin() + static_cast<std::ptrdiff_t>(at + value_bytes));
}

/// The chunk as the codec takes it: HDF5 has up to 32 axes, so extents of 1 go and leading axes
/// join until k_max_rank are left. With no more axes than that it is the chunk's own shape.
Shape codec_shape(const std::vector<std::uint32_t>& chunk) {
    std::vector<std::uint64_t> extents(chunk.begin(), chunk.end());
    const std::size_t most = k_max_rank;
    for (std::size_t i = 0; i < extents.size() && extents.size() > most;) {
        if (extents[i] == 1)
            extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
    while (extents.size() > most) {
        extents[1] *= extents[0];
        extents.erase(extents.begin());
    }
    return Shape(extents);
}

Status corrupt_chunk(std::string what) {
    return {StatusCode::corrupt, "chunk: " + std::move(what)};
}

/// Is a shape that of the chunk, or of a corner of it?
bool fits_chunk(const Shape& shape, const Settings& settings) {
    bool inside = static_cast<std::size_t>(shape.rank()) == settings.chunk.size();
    for (int axis = 0; inside && axis < shape.rank(); ++axis)
        inside = shape[axis] <= settings.chunk[static_cast<std::size_t>(axis)];
    return inside;
}

/// Does the frame hold a corner of the chunk, smaller than the chunk?
bool is_corner(const FrameInfo& info, const Settings& settings) {
    return !info.untyped && fits_chunk(info.shape, settings);
}

/// The unsigned integers that values of no floating-point type may be taken for, whatever they are:
/// their bits come back. None for values of other sizes.
std::optional<DType> integers_for(const Settings& settings) {
    if (settings.element != Element::bytes) return std::nullopt;
    switch (settings.element_bytes) {
        case 1:
            return DType::uint8;
        case 2:
            return DType::uint16;
        case 4:
            return DType::uint32;
        case 8:
            return DType::uint64;
        default:
            return std::nullopt;
    }
}

/// Are typed values what the dataset holds? Integers may be signed or not: the bits count.
bool is_of_type(DType dtype, const Settings& settings) {
    if (is_float(settings)) return dtype == dtype_of(settings);
    return integers_for(settings) && is_integer(dtype) && size_of(dtype) == settings.element_bytes;
}

/// Can the frame be of this dataset? A typed frame must be of the dataset's type, or values would
/// come out as something else; bytes are bytes.
Status check_frame(const FrameInfo& info, const Settings& settings) {
    if (settings.element != Element::unknown && !info.untyped) {
        if (!is_of_type(info.dtype, settings))
            return corrupt_chunk(
                fmt::format("a frame of {} in a dataset of another type", to_string(info.dtype)));
    }
    if (settings.complete()) {
        if (info.raw_bytes == settings.chunk_bytes() || is_corner(info, settings)) return {};
        return corrupt_chunk(
            fmt::format("a frame of {} ({} bytes) in a dataset with chunks of [{}] ({} "
                        "bytes)",
                        to_string(info.shape), info.raw_bytes, fmt::join(settings.chunk, ", "),
                        settings.chunk_bytes()));
    }
    if (info.raw_bytes <= k_hdf5_chunk_limit_bytes) return {};
    return corrupt_chunk(
        fmt::format("a frame of {} bytes; HDF5's chunks are below 4 GiB", info.raw_bytes));
}

/// The size of a packed frame's values, which a GPU made of whole chunks. Errors: as
/// read_packed_header(); corrupt (it cannot belong to the dataset).
Result<std::uint64_t> packed_bytes(const Settings& settings, Bytes frame) {
    const auto header = codec::packed::read_packed_header(frame, frame.size());
    if (!header.ok()) return header.status();
    if (is_float(settings) && header->value_bytes != settings.element_bytes)
        return corrupt_chunk(
            fmt::format("a packed frame of {}-byte values in a dataset of {}-byte ones",
                        header->value_bytes, settings.element_bytes));
    const std::uint64_t wanted =
        settings.complete() ? settings.chunk_bytes() : k_hdf5_chunk_limit_bytes;
    const std::uint64_t bytes = header->raw_bytes;
    if (bytes == wanted || (!settings.complete() && bytes < wanted)) return bytes;
    return corrupt_chunk(
        fmt::format("a packed frame of {} bytes where a chunk has {}", bytes, wanted));
}

/// What the values of interleaved arrays are: an array more of whose axes counts the arrays. Rank
/// 0: too many axes.
Shape interleaved_shape(const codec::BundleInfo& info) {
    const Shape& each = info.parts[0].info.shape;
    std::vector<std::uint64_t> extents(each.data(), each.data() + each.rank());
    extents.push_back(info.parts.size());
    return extents.size() > static_cast<std::size_t>(k_max_rank) ? Shape{} : Shape(extents);
}

/// The array that a bundle fills where it need not be the whole chunk: the corner that lies inside
/// the dataset. None: its values are the first ones of the chunk.
std::optional<Shape> corner_of(const codec::BundleInfo& info) {
    if (info.canvas) return info.canvas->shape;
    if (info.interleaved) return interleaved_shape(info);
    return std::nullopt;
}

/// Can these bytes be several arrays of a chunk of this dataset? Of a chunk of one axis they may be
/// the begin, of one whose members are interleaved, or that is a canvas, its corner: what lies
/// inside the dataset.
/// Errors: as read_bundle_info(); corrupt (they cannot).
Status check_bundle(const codec::BundleInfo& info, const Settings& settings) {
    if (settings.element != Element::unknown && !is_of_type(info.dtype, settings))
        return corrupt_chunk(
            fmt::format("arrays of {} in a dataset of another type", to_string(info.dtype)));
    const std::uint64_t wanted =
        settings.complete() ? settings.chunk_bytes() : k_hdf5_chunk_limit_bytes;
    const bool members_fit = !info.interleaved || !settings.complete() ||
                             (fits_chunk(interleaved_shape(info), settings) &&
                              info.parts.size() == settings.chunk.back());
    if (!members_fit)
        return corrupt_chunk(fmt::format(
            "{} interleaved arrays of {} in a dataset with chunks of [{}]", info.parts.size(),
            to_string(info.parts[0].info.shape), fmt::join(settings.chunk, ", ")));
    if (info.canvas && settings.complete() && !fits_chunk(info.canvas->shape, settings))
        return corrupt_chunk(fmt::format("boxes of {} in a dataset with chunks of [{}]",
                                         to_string(info.canvas->shape),
                                         fmt::join(settings.chunk, ", ")));
    if (corner_of(info) && settings.complete()) return {};
    const bool may_be_shorter = !settings.complete() || settings.chunk.size() == 1;
    if (info.raw_bytes == wanted || (may_be_shorter && info.raw_bytes < wanted)) return {};
    return corrupt_chunk(
        fmt::format("arrays of {} bytes where a chunk has {}", info.raw_bytes, wanted));
}

Result<codec::BundleInfo> read_bundle(const Settings& settings, Bytes bytes) {
    auto info = codec::read_bundle_info(bytes);
    if (!info.ok()) return info.status();
    if (Status status = check_bundle(*info, settings); !status.ok()) return status;
    return info;
}

/// Values that are not the whole chunk go to its corner; the rest becomes zero.
void put_corner(const Shape& shape, const Settings& settings, Bytes values,
                std::span<std::byte> chunk) {
    const int rank = shape.rank();
    Box whole{Shape::filled(rank, 0), Shape::filled(rank, 0)};
    for (int axis = 0; axis < rank; ++axis)
        whole.extent[axis] = settings.chunk[static_cast<std::size_t>(axis)];
    const Box corner{whole.offset, shape};
    std::memset(chunk.data(), 0, chunk.size());
    copy_box(corner, corner, values.data(), whole, chunk.data(), settings.element_bytes);
}

Status decode_bundle(const Settings& settings, Bytes bytes, std::span<std::byte> chunk) {
    const auto info = read_bundle(settings, bytes);
    if (!info.ok()) return info.status();
    const std::uint64_t wanted = settings.complete() ? settings.chunk_bytes() : info->raw_bytes;
    if (chunk.size() != wanted)
        return {StatusCode::invalid_argument,
                fmt::format("{} bytes to fill, {} given", wanted, chunk.size())};
    const auto raw = static_cast<std::size_t>(info->raw_bytes);
    if (const auto shape = corner_of(*info); shape && raw < chunk.size()) {
        std::vector<std::byte> corner(raw);
        Status status = codec::decompress_bundle(bytes, corner, &settings.tables);
        if (!status.ok()) return status;
        put_corner(*shape, settings, corner, chunk);
        if (is_swapped(settings)) swap_values(chunk, settings.element_bytes);
        return {};
    }
    Status status = codec::decompress_bundle(bytes, chunk.first(raw), &settings.tables);
    std::memset(chunk.data() + raw, 0, chunk.size() - raw);
    if (status.ok() && is_swapped(settings)) swap_values(chunk, settings.element_bytes);
    return status;
}

/// Decode a frame of fewer values than the chunk has.
Status decode_corner(const FrameInfo& info, const Settings& settings, Bytes frame,
                     std::span<std::byte> chunk) {
    std::vector<std::byte> part(static_cast<std::size_t>(info.raw_bytes));
    if (Status status = decompress(frame, part, &settings.tables); !status.ok()) return status;
    put_corner(info.shape, settings, part, chunk);
    return {};
}

/// Values of a bound that have been decoded before are old ones: parameters that do not tell them
/// from new ones leave nothing but to keep all of them.
Result<std::vector<std::byte>> encode_floats(const Settings& settings, Bytes chunk,
                                             std::optional<Fineness> decoded) {
    const Shape shape = codec_shape(settings.chunk);
    const DType dtype = dtype_of(settings);
    std::vector<std::byte> swapped;
    if (is_swapped(settings)) {
        swapped.assign(chunk.begin(), chunk.end());
        swap_values(swapped, settings.element_bytes);
        chunk = swapped;
    }
    if (settings.fill && settings.bound.kind != ErrorBound::Kind::lossless) {
        auto stored = encode_repeatable(settings, dtype, shape, chunk, decoded);
        if (!stored.ok() || stored->size() != chunk.size()) return stored;
        return of_another_length(std::move(*stored), chunk, settings.element_bytes,
                                 settings.checksum);
    }
    CompressOptions options;
    options.mode = settings.mode;
    options.checksum = settings.checksum;
    if (settings.tables.id() != 0) options.tables = &settings.tables;
    return compress(chunk, dtype, shape, decoded ? lossless() : settings.bound, options);
}

Result<std::vector<std::byte>> encode_integers(const Settings& settings, Bytes chunk, DType dtype) {
    CompressOptions options;
    options.checksum = settings.checksum;
    return compress(chunk, dtype, codec_shape(settings.chunk), lossless(), options);
}

Status decode_packed(const Settings& settings, Bytes frame, std::span<std::byte> chunk) {
    const Result<std::uint64_t> bytes = packed_bytes(settings, frame);
    if (!bytes.ok()) return bytes.status();
    Status status = codec::packed::unpack_frame(frame, chunk);
    if (status.ok() && is_swapped(settings)) swap_values(chunk, settings.element_bytes);
    return status;
}

/// The frame of a chunk with kept values, which has as many values as the chunk.
/// Errors: as read_kept_chunk() and check_frame().
Result<KeptChunk> read_kept(const Settings& settings, Bytes stored) {
    auto kept = read_kept_chunk(stored);
    if (!kept.ok()) return kept.status();
    const auto info = read_frame_info(kept->frame);
    if (!info.ok()) return info.status();
    if (Status status = check_frame(*info, settings); !status.ok()) return status;
    if (is_float(settings) && settings.complete() && !info->untyped &&
        info->raw_bytes == settings.chunk_bytes())
        return kept;
    return corrupt_chunk("kept values in a dataset that has none");
}

Status decode_kept(const Settings& settings, Bytes stored, std::span<std::byte> chunk) {
    const auto kept = read_kept(settings, stored);
    if (!kept.ok()) return kept.status();
    if (chunk.size() != settings.chunk_bytes())
        return {StatusCode::invalid_argument,
                fmt::format("{} bytes to fill, {} given", settings.chunk_bytes(), chunk.size())};
    Status status = decompress(kept->frame, chunk, &settings.tables);
    if (!status.ok()) return status;
    round_decoded(dtype_of(settings), kept->grid, chunk);
    status = put_kept(*kept, settings.element_bytes, chunk);
    if (status.ok() && is_swapped(settings)) swap_values(chunk, settings.element_bytes);
    return status;
}

template <class Call>
auto guarded(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::no_space, "no memory for a chunk");
    }
}

Result<std::vector<std::byte>> encode_any(const Settings& settings, Bytes chunk,
                                          std::optional<Fineness> decoded) {
    if (settings.complete() && chunk.size() != settings.chunk_bytes()) {
        return Status(
            StatusCode::invalid_argument,
            fmt::format("{} bytes are no chunk of {}", chunk.size(), settings.chunk_bytes()));
    }
    if (settings.complete() && is_float(settings)) return encode_floats(settings, chunk, decoded);
    const bool lossy = settings.bound.kind != ErrorBound::Kind::lossless;
    if (lossy && settings.element != Element::bytes) {
        return Status(StatusCode::invalid_argument,
                      "a bound needs to know type and shape of the values: no HDF5 filled them "
                      "in, so give complete cd_values");
    }
    if (const auto dtype = integers_for(settings); dtype && settings.complete())
        return encode_integers(settings, chunk, *dtype);
    const std::uint32_t value_bytes =
        settings.element_bytes <= k_largest_value_bytes ? settings.element_bytes : 1;
    return compress_bytes(chunk, std::max(value_bytes, 1U), settings.checksum);
}

}  // namespace

Result<std::vector<std::byte>> encode_chunk(const Settings& settings, Bytes chunk,
                                            std::optional<Fineness> decoded) {
    return guarded([&]() -> Result<std::vector<std::byte>> {
        auto stored = encode_any(settings, chunk, decoded);
        // As of_another_length(), for a frame alone: as bytes it has another one, at some width.
        for (std::uint32_t width = 1;
             stored.ok() && stored->size() == chunk.size() && width <= k_largest_value_bytes;
             width *= 2)
            stored = compress_bytes(chunk, width, settings.checksum);
        return stored;
    });
}

std::optional<Fineness> finest_grid(const Settings& settings, Bytes stored) {
    if (!is_float(settings) || settings.bound.kind == ErrorBound::Kind::lossless)
        return std::nullopt;
    if (is_kept_chunk(stored)) {
        const auto kept = read_kept_chunk(stored);
        return kept.ok() ? kept->finest : std::nullopt;
    }
    const auto info = read_frame_info(stored);  // of packed frames and bundles: an error
    const bool exact = info.ok() && info->bound.kind == ErrorBound::Kind::lossless;
    return exact ? std::nullopt : std::optional(k_finest);
}

Result<std::uint64_t> decoded_bytes(const Settings& settings, Bytes frame) {
    if (is_kept_chunk(frame)) {
        const auto kept = read_kept(settings, frame);
        if (!kept.ok()) return kept.status();
        return settings.chunk_bytes();
    }
    if (codec::packed::is_packed_frame(frame)) return packed_bytes(settings, frame);
    if (codec::is_bundle(frame)) {
        const auto bundle = read_bundle(settings, frame);
        if (!bundle.ok()) return bundle.status();
        return settings.complete() ? settings.chunk_bytes() : bundle->raw_bytes;
    }
    const auto info = read_frame_info(frame);
    if (!info.ok()) return info.status();
    if (Status status = check_frame(*info, settings); !status.ok()) return status;
    return settings.complete() ? settings.chunk_bytes() : info->raw_bytes;
}

Status decode_chunk(const Settings& settings, Bytes frame, std::span<std::byte> chunk) {
    return guarded([&]() -> Status {
        if (is_kept_chunk(frame)) return decode_kept(settings, frame, chunk);
        if (codec::packed::is_packed_frame(frame)) return decode_packed(settings, frame, chunk);
        if (codec::is_bundle(frame)) return decode_bundle(settings, frame, chunk);
        const auto info = read_frame_info(frame);
        if (!info.ok()) return info.status();
        if (Status status = check_frame(*info, settings); !status.ok()) return status;
        const std::uint64_t wanted = settings.complete() ? settings.chunk_bytes() : info->raw_bytes;
        if (chunk.size() != wanted) {
            return {StatusCode::invalid_argument,
                    fmt::format("{} bytes to fill, {} given", wanted, chunk.size())};
        }
        Status status = info->raw_bytes == wanted ? decompress(frame, chunk, &settings.tables)
                                                  : decode_corner(*info, settings, frame, chunk);
        if (status.ok() && !info->untyped && is_swapped(settings))
            swap_values(chunk, settings.element_bytes);
        return status;
    });
}

}  // namespace caesura::hdf5
