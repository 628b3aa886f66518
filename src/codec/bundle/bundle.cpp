#include "codec/bundle/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "base/little_endian.hpp"
#include "codec/frame/frame.hpp"
#include "codec/frame/recode.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

constexpr std::array k_magic = {std::byte{0x8a}, std::byte{'C'}, std::byte{'B'}, std::byte{'N'}};
/// Arrays that lie otherwise than one after the other have versions of their own: readers of the
/// first one refuse them by name.
enum Layout : std::uint8_t { one_after_the_other = 0, interleaved = 1, boxes = 2 };
constexpr int k_first_version = 1;  // of layout 0; that of a layout is as many more
/// Likewise where the values are neither float32 nor float64. (Integers were once written in the
/// first three, and are read in them.)
constexpr int k_first_version_of_types = 4;
constexpr int k_last_version = k_first_version_of_types + boxes;
constexpr std::size_t k_header_bytes = 24, k_line_bytes = 8, k_checksummed_from = 16;
constexpr std::size_t k_number_bytes = 8;  // of an extent, an offset, a fill value

using Bytes = std::span<const std::byte>;

/// Where the frames begin. @param axes  of a canvas; 0: there is none.
std::size_t table_end(std::size_t parts, std::size_t axes) {
    const std::size_t lines = k_header_bytes + parts * k_line_bytes;
    return axes == 0 ? lines : lines + k_number_bytes * (1 + axes + parts * axes);
}

/// Of header and lines; the checksum itself lies between its seed and what it covers.
std::uint64_t checksum_of(Bytes bundle, std::size_t table_bytes) {
    const std::uint64_t seed = base::get_little(bundle.data(), 8);
    return checksum(bundle.subspan(k_checksummed_from, table_bytes - k_checksummed_from), seed);
}

bool lies_inside(const Box& box, const Shape& canvas) {
    bool inside = box.offset.rank() == canvas.rank() && box.extent.rank() == canvas.rank();
    for (int axis = 0; inside && axis < canvas.rank(); ++axis)
        inside =
            box.extent[axis] <= canvas[axis] && box.offset[axis] <= canvas[axis] - box.extent[axis];
    return inside;
}

Box whole(const Canvas& canvas) { return {Shape::filled(canvas.shape.rank(), 0), canvas.shape}; }

Status damaged(std::string what) { return {StatusCode::corrupt, "bundle: " + std::move(what)}; }

Status check_boxes(Bytes values, DType dtype, std::span<const BundlePart> parts,
                   const Canvas& canvas) {
    std::uint64_t left = canvas.shape.count();
    bool right = !parts.empty() && left * size_of(dtype) == values.size();
    for (const BundlePart& part : parts) {
        right = right && !part.interleaved &&
                lies_inside({part.offset, part.shape}, canvas.shape) && part.shape.count() <= left;
        left -= right ? part.shape.count() : 0;
    }
    if (right) return {};
    return {StatusCode::invalid_argument,
            fmt::format("{} boxes do not lie beside each other in {} {}, {} bytes", parts.size(),
                        to_string(canvas.shape), to_string(dtype), values.size())};
}

Status check_parts(Bytes values, DType dtype, std::span<const BundlePart> parts) {
    std::uint64_t count = 0;
    for (const BundlePart& part : parts) count += part.shape.count();
    for (const BundlePart& part : parts)
        if (part.interleaved != parts[0].interleaved || part.offset.rank() > 0 ||
            (part.interleaved && part.shape != parts[0].shape))
            return {StatusCode::invalid_argument,
                    "arrays that are interleaved have one shape; only boxes have an offset"};
    if (!parts.empty() && count * size_of(dtype) == values.size()) return {};
    return {StatusCode::invalid_argument,
            fmt::format("{} arrays of {} values do not make {} bytes of {}", parts.size(), count,
                        values.size(), to_string(dtype))};
}

/// A frame of the values as they are.
Result<std::size_t> store_into(std::span<std::byte> room, Bytes values, DType dtype,
                               const Shape& shape, bool checksum) {
    FrameHeader header;
    header.checksum = checksum;
    header.dtype = dtype;
    if (is_integer(dtype)) header.version = k_integer_frame_version;
    header.shape = shape;
    Output frame(room);
    write_header(header, frame);
    frame.push_back(static_cast<std::byte>(PartKind::raw));
    frame.append(values);
    if (Status status = seal(frame.bytes()); !status.ok()) return status;
    return frame.size();
}

Result<std::size_t> compress_part_into(std::span<std::byte> room, Bytes values, DType dtype,
                                       const BundlePart& part, const CompressOptions& options) {
    // What is recoded is not as it is.
    if (part.as_it_is && is_recoded(dtype))
        return compress_into(room, values, dtype, part.shape, lossless(), options);
    if (part.as_it_is) return store_into(room, values, dtype, part.shape, options.checksum);
    return compress_into(room, values, dtype, part.shape, part.bound, options);
}

/// Calls `work` with a number of so many bytes: copies of a size that is known are fast.
template <class Work>
void for_width(std::size_t value_bytes, Work work) {
    if (value_bytes == 8) return work(std::uint64_t{});
    if (value_bytes == 4) return work(std::uint32_t{});
    if (value_bytes == 2) return work(std::uint16_t{});
    work(std::uint8_t{});
}

/// Of values of which those of `arrays` arrays take turns, those of number `array`, dense.
void take_turns_of(Bytes values, std::size_t value_bytes, std::size_t arrays, std::size_t array,
                   std::span<std::byte> dense) {
    const std::byte* from = values.data() + array * value_bytes;
    for_width(value_bytes, [&]<class Value>(Value) {
        for (std::size_t at = 0; at < dense.size(); at += sizeof(Value)) {
            std::memcpy(dense.data() + at, from, sizeof(Value));
            from += arrays * sizeof(Value);
        }
    });
}

/// The other way round.
void put_turns_of(Bytes dense, std::size_t value_bytes, std::size_t arrays, std::size_t array,
                  std::span<std::byte> values) {
    std::byte* to = values.data() + array * value_bytes;
    for_width(value_bytes, [&]<class Value>(Value) {
        for (std::size_t at = 0; at < dense.size(); at += sizeof(Value)) {
            std::memcpy(to, dense.data() + at, sizeof(Value));
            to += arrays * sizeof(Value);
        }
    });
}

}  // namespace

BundleArrays::BundleArrays(Bytes values, const BundleInfo& bundle)
    : values_(values),
      value_bytes_(size_of(bundle.dtype)),
      interleaved_(bundle.interleaved),
      canvas_(bundle.canvas ? &*bundle.canvas : nullptr) {
    for (const BundleLine& part : bundle.parts) places_.push_back({part.offset, part.info.shape});
}

BundleArrays::BundleArrays(Bytes values, DType dtype, std::span<const BundlePart> parts,
                           const Canvas* canvas)
    : values_(values),
      value_bytes_(size_of(dtype)),
      interleaved_(parts[0].interleaved),
      canvas_(canvas) {
    for (const BundlePart& part : parts) places_.push_back({part.offset, part.shape});
}

Bytes BundleArrays::next() {
    const Place& place = places_[array_];
    const std::size_t bytes = place.shape.count() * value_bytes_;
    if (canvas_ != nullptr) {
        ++array_;
        const Box box{place.offset, place.shape}, all = whole(*canvas_);
        if (const std::byte* there = dense_part(box, all, values_.data(), value_bytes_))
            return {there, bytes};
        dense_.resize(bytes);
        copy_box(box, all, values_.data(), box, dense_.data(), value_bytes_);
        return dense_;
    }
    if (interleaved_) {
        dense_.resize(bytes);
        take_turns_of(values_, value_bytes_, places_.size(), array_++, dense_);
        return dense_;
    }
    ++array_;
    taken_ += bytes;
    return values_.subspan(taken_ - bytes, bytes);
}

std::uint64_t bundle_bytes_at_most(std::size_t parts, std::uint64_t raw_bytes) {
    return table_end(parts, k_max_rank) + parts * k_frame_overhead_bytes + raw_bytes;
}

Result<std::vector<std::byte>> compress_part(Bytes values, DType dtype, const BundlePart& part,
                                             const CompressOptions& options) try {
    std::vector<std::byte> frame(values.size() + k_frame_overhead_bytes);
    const auto bytes = compress_part_into(frame, values, dtype, part, options);
    if (!bytes.ok()) return bytes.status();
    frame.resize(*bytes);
    return frame;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "no memory to compress an array"};
}

namespace {

void put_shape(std::byte*& at, const Shape& shape) {
    for (int axis = 0; axis < shape.rank(); ++axis, at += k_number_bytes)
        base::put_little(at, shape[axis], k_number_bytes);
}

Shape get_shape(const std::byte*& at, int axes) {
    Shape shape = Shape::filled(axes, 0);
    for (int axis = 0; axis < axes; ++axis, at += k_number_bytes)
        shape[axis] = base::get_little(at, k_number_bytes);
    return shape;
}

/// All in front of the frames but their sizes and the checksum.
void begin_bundle(std::span<std::byte> bundle, DType dtype, std::span<const BundlePart> parts,
                  const Canvas* canvas) {
    const Layout layout = canvas != nullptr      ? boxes
                          : parts[0].interleaved ? interleaved
                                                 : one_after_the_other;
    std::copy(k_magic.begin(), k_magic.end(), bundle.begin());
    const bool wide_float = dtype == DType::float32 || dtype == DType::float64;
    bundle[4] =
        static_cast<std::byte>((wide_float ? k_first_version : k_first_version_of_types) + layout);
    bundle[5] = static_cast<std::byte>(dtype);
    base::put_little(bundle.data() + 6, layout, 2);
    base::put_little(bundle.data() + 16, parts.size(), 4);
    for (std::size_t i = 0; i < parts.size(); ++i)
        base::put_little(bundle.data() + k_header_bytes + i * k_line_bytes + 4, parts[i].component,
                         4);
    if (canvas == nullptr) return;
    base::put_little(bundle.data() + 20, static_cast<std::uint64_t>(canvas->shape.rank()), 4);
    std::byte* at = bundle.data() + table_end(parts.size(), 0);
    base::put_little(at, base::get_native(canvas->fill.data(), size_of(dtype)), k_number_bytes);
    at += k_number_bytes;
    put_shape(at, canvas->shape);
    for (const BundlePart& part : parts) put_shape(at, part.offset);
}

}  // namespace

Result<std::vector<std::byte>> compress_bundle(Bytes values, DType dtype,
                                               std::span<const BundlePart> parts,
                                               const CompressOptions& options,
                                               const Canvas* canvas) try {
    if (!is_number(dtype))
        return Status{StatusCode::invalid_argument,
                      fmt::format("arrays of {} cannot be bundled", to_string(dtype))};
    const Status right = canvas != nullptr ? check_boxes(values, dtype, parts, *canvas)
                                           : check_parts(values, dtype, parts);
    if (!right.ok()) return right;
    std::vector<std::byte> bundle(bundle_bytes_at_most(parts.size(), values.size()));
    begin_bundle(bundle, dtype, parts, canvas);
    const std::size_t axes = canvas != nullptr ? static_cast<std::size_t>(canvas->shape.rank()) : 0;
    const std::size_t table_bytes = table_end(parts.size(), axes);
    BundleArrays arrays(values, dtype, parts, canvas);
    std::size_t at = table_bytes;
    std::byte* line = bundle.data() + k_header_bytes;
    for (const BundlePart& part : parts) {
        const auto bytes =
            compress_part_into(std::span(bundle).subspan(at), arrays.next(), dtype, part, options);
        if (!bytes.ok()) return bytes.status();
        base::put_little(line, *bytes, 4);
        line += k_line_bytes;
        at += *bytes;
    }
    base::put_little(bundle.data() + 8, checksum_of(bundle, table_bytes), 8);
    bundle.resize(at);
    return bundle;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "no memory to compress several arrays"};
}

bool is_bundle(Bytes bytes) {
    return bytes.size() >= k_magic.size() &&
           std::equal(k_magic.begin(), k_magic.end(), bytes.begin());
}

namespace {

/// What a bundle's header says, checked.
struct BundleHeader {
    Layout layout = one_after_the_other;
    std::size_t parts = 0, axes = 0, table_bytes = 0;
    DType dtype = DType::float32;
};

Result<BundleHeader> read_bundle_header(Bytes bundle) {
    if (!is_bundle(bundle)) return damaged("it does not begin like one");
    if (bundle.size() < k_header_bytes)
        return Status{StatusCode::insufficient_data, "bundle: it ends inside its header"};
    const auto version = std::to_integer<int>(bundle[4]);
    if (version < k_first_version || version > k_last_version)
        return Status{
            StatusCode::unsupported,
            fmt::format("bundle: it has format version {}, this library reads versions {} "
                        "to {}; use a later Caesura",
                        version, k_first_version, k_last_version)};
    BundleHeader header;
    const bool of_types = version >= k_first_version_of_types;
    header.layout =
        static_cast<Layout>(version - (of_types ? k_first_version_of_types : k_first_version));
    header.parts = static_cast<std::size_t>(base::get_little(bundle.data() + 16, 4));
    header.axes = static_cast<std::size_t>(base::get_little(bundle.data() + 20, 4));
    if (header.layout == boxes ? header.axes < 1 || header.axes > k_max_rank : header.axes != 0)
        return damaged("its header says what no bundle says");
    header.table_bytes = table_end(header.parts, header.axes);
    if (bundle.size() < header.table_bytes)
        return Status{StatusCode::insufficient_data, "bundle: it ends inside its lines"};
    if (base::get_little(bundle.data() + 8, 8) != checksum_of(bundle, header.table_bytes))
        return damaged("the checksum of its header is wrong");
    header.dtype = static_cast<DType>(bundle[5]);
    const bool right_type = of_types ? is_integer(header.dtype) || is_short_float(header.dtype)
                                     : is_number(header.dtype) && !is_recoded(header.dtype);
    if (!right_type || base::get_little(bundle.data() + 6, 2) != header.layout || header.parts == 0)
        return damaged("its header says what no bundle says");
    return header;
}

/// The canvas, and where its boxes begin.
Status read_canvas(Bytes bundle, const BundleHeader& header, BundleInfo& info) {
    const auto axes = static_cast<int>(header.axes);
    const std::byte* at = bundle.data() + table_end(header.parts, 0);
    Canvas& canvas = info.canvas.emplace();
    base::put_native(canvas.fill.data(), base::get_little(at, k_number_bytes), size_of(info.dtype));
    at += k_number_bytes;
    canvas.shape = get_shape(at, axes);
    for (BundleLine& line : info.parts) line.offset = get_shape(at, axes);
    std::uint64_t bytes = size_of(info.dtype);
    for (int axis = 0; axis < axes; ++axis) {
        if (canvas.shape[axis] == 0 ||
            canvas.shape[axis] > std::numeric_limits<std::uint64_t>::max() / bytes)
            return damaged(fmt::format("a canvas of {}", to_string(canvas.shape)));
        bytes *= canvas.shape[axis];
    }
    std::uint64_t left = bytes;
    for (const BundleLine& line : info.parts) {
        if (!lies_inside(line.box(), canvas.shape) || line.info.raw_bytes > left)
            return damaged(fmt::format("a box ({}) that does not lie beside others in {}",
                                       to_string(line.box()), to_string(canvas.shape)));
        left -= line.info.raw_bytes;
    }
    info.raw_bytes = bytes;
    return {};
}

}  // namespace

Result<BundleInfo> read_bundle_info(Bytes bundle) {
    const auto header = read_bundle_header(bundle);
    if (!header.ok()) return header.status();
    BundleInfo info{header->dtype, 0, {}, header->layout == interleaved};
    info.parts.reserve(header->parts);
    std::size_t at = header->table_bytes;
    for (std::size_t i = 0; i < header->parts; ++i) {
        const std::byte* line = bundle.data() + k_header_bytes + i * k_line_bytes;
        const auto bytes = static_cast<std::size_t>(base::get_little(line, 4));
        if (bytes > bundle.size() - at)
            return Status{StatusCode::insufficient_data,
                          fmt::format("bundle: it ends inside array {} of {}", i, header->parts)};
        BundleLine part{static_cast<std::uint32_t>(base::get_little(line + 4, 4)),
                        bundle.subspan(at, bytes),
                        {}};
        auto frame = read_frame_info(part.frame);
        if (!frame.ok()) return frame.status().with_context(fmt::format("array {}", i));
        if (frame->untyped || frame->dtype != info.dtype)
            return damaged(fmt::format("array {} is of another type", i));
        part.info = std::move(*frame);
        if (info.interleaved && i > 0 && part.info.shape != info.parts[0].info.shape)
            return damaged(fmt::format("array {} has another shape than those it is among", i));
        if (part.info.raw_bytes > std::numeric_limits<std::uint64_t>::max() - info.raw_bytes)
            return damaged("its arrays are larger than any memory");
        info.raw_bytes += part.info.raw_bytes;
        info.parts.push_back(std::move(part));
        at += bytes;
    }
    if (at != bundle.size()) return damaged("bytes follow its last array");
    if (header->layout == boxes)
        if (Status status = read_canvas(bundle, *header, info); !status.ok()) return status;
    return info;
}

namespace {

void fill_with(const std::array<std::byte, 8>& value, std::size_t value_bytes,
               std::span<std::byte> values) {
    if (std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(value_bytes),
                    [](std::byte b) { return b == std::byte{0}; })) {
        std::memset(values.data(), 0, values.size());
        return;
    }
    for (std::size_t at = 0; at < values.size(); at += value_bytes)
        std::memcpy(values.data() + at, value.data(), value_bytes);
}

Status decompress_boxes(const BundleInfo& info, std::span<std::byte> values,
                        const TableSet* tables) {
    const std::size_t value_bytes = size_of(info.dtype);
    const Box all = whole(*info.canvas);
    fill_with(info.canvas->fill, value_bytes, values);
    std::vector<std::byte> dense;
    for (std::size_t i = 0; i < info.parts.size(); ++i) {
        const Box box = info.parts[i].box();
        dense.resize(static_cast<std::size_t>(info.parts[i].info.raw_bytes));
        if (Status status = decompress(info.parts[i].frame, dense, tables); !status.ok())
            return status.with_context(fmt::format("array {}", i));
        copy_box(box, box, dense.data(), all, values.data(), value_bytes);
    }
    return {};
}

}  // namespace

Status decompress_bundle(Bytes bundle, std::span<std::byte> values, const TableSet* tables) try {
    const auto info = read_bundle_info(bundle);
    if (!info.ok()) return info.status();
    if (values.size() != info->raw_bytes)
        return {StatusCode::invalid_argument,
                fmt::format("a bundle of {} bytes to fill {}", info->raw_bytes, values.size())};
    if (info->canvas) return decompress_boxes(*info, values, tables);
    std::size_t at = 0;
    std::vector<std::byte> dense(info->interleaved ? info->parts[0].info.raw_bytes : 0);
    for (std::size_t i = 0; i < info->parts.size(); ++i) {
        const BundleLine& part = info->parts[i];
        const auto raw = static_cast<std::size_t>(part.info.raw_bytes);
        const std::span<std::byte> into = info->interleaved ? dense : values.subspan(at, raw);
        if (Status status = decompress(part.frame, into, tables); !status.ok())
            return status.with_context(fmt::format("array {}", i));
        if (info->interleaved)
            put_turns_of(dense, size_of(info->dtype), info->parts.size(), i, values);
        at += raw;
    }
    return {};
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, "no memory to decompress several arrays"};
}

}  // namespace caesura::codec
