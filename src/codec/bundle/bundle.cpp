#include "codec/bundle/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "base/little_endian.hpp"
#include "codec/frame/frame.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

constexpr std::array k_magic = {std::byte{0x8a}, std::byte{'C'}, std::byte{'B'}, std::byte{'N'}};
constexpr std::uint8_t k_version = 1;
constexpr std::size_t k_header_bytes = 24, k_line_bytes = 8, k_checksummed_from = 16;

using Bytes = std::span<const std::byte>;

std::size_t table_end(std::size_t parts) { return k_header_bytes + parts * k_line_bytes; }

/// Of header and lines; the checksum itself lies between its seed and what it covers.
std::uint64_t checksum_of(Bytes bundle, std::size_t parts) {
    const std::uint64_t seed = base::get_little(bundle.data(), 8);
    return checksum(bundle.subspan(k_checksummed_from, table_end(parts) - k_checksummed_from),
                    seed);
}

Status damaged(std::string what) { return {StatusCode::corrupt, "bundle: " + std::move(what)}; }

Status check_parts(Bytes values, DType dtype, std::span<const BundlePart> parts) {
    std::uint64_t count = 0;
    for (const BundlePart& part : parts) count += part.shape.count();
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
    if (part.as_it_is) return store_into(room, values, dtype, part.shape, options.checksum);
    return compress_into(room, values, dtype, part.shape, part.bound, options);
}

}  // namespace

std::uint64_t bundle_bytes_at_most(std::size_t parts, std::uint64_t raw_bytes) {
    return table_end(parts) + parts * k_frame_overhead_bytes + raw_bytes;
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

Result<std::vector<std::byte>> compress_bundle(Bytes values, DType dtype,
                                               std::span<const BundlePart> parts,
                                               const CompressOptions& options) try {
    if (Status status = check_parts(values, dtype, parts); !status.ok()) return status;
    std::vector<std::byte> bundle(bundle_bytes_at_most(parts.size(), values.size()));
    std::copy(k_magic.begin(), k_magic.end(), bundle.begin());
    bundle[4] = std::byte{k_version};
    bundle[5] = static_cast<std::byte>(dtype);
    base::put_little(bundle.data() + 16, parts.size(), 4);
    std::size_t at = table_end(parts.size()), taken = 0;
    std::byte* line = bundle.data() + k_header_bytes;
    for (const BundlePart& part : parts) {
        const std::size_t raw = part.shape.count() * size_of(dtype);
        const auto bytes = compress_part_into(std::span(bundle).subspan(at),
                                              values.subspan(taken, raw), dtype, part, options);
        if (!bytes.ok()) return bytes.status();
        base::put_little(line, *bytes, 4);
        base::put_little(line + 4, part.component, 4);
        line += k_line_bytes;
        at += *bytes;
        taken += raw;
    }
    base::put_little(bundle.data() + 8, checksum_of(bundle, parts.size()), 8);
    bundle.resize(at);
    return bundle;
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, "no memory to compress several arrays"};
}

bool is_bundle(Bytes bytes) {
    return bytes.size() >= k_magic.size() &&
           std::equal(k_magic.begin(), k_magic.end(), bytes.begin());
}

Result<BundleInfo> read_bundle_info(Bytes bundle) {
    if (!is_bundle(bundle)) return damaged("it does not begin like one");
    if (bundle.size() < k_header_bytes)
        return Status{StatusCode::insufficient_data, "bundle: it ends inside its header"};
    if (const auto version = std::to_integer<int>(bundle[4]); version != k_version)
        return Status{StatusCode::unsupported,
                      fmt::format("bundle: version {}; this library reads 1", version)};
    const auto parts = static_cast<std::size_t>(base::get_little(bundle.data() + 16, 4));
    if (bundle.size() < table_end(parts))
        return Status{StatusCode::insufficient_data, "bundle: it ends inside its lines"};
    if (base::get_little(bundle.data() + 8, 8) != checksum_of(bundle, parts))
        return damaged("the checksum of its header is wrong");
    const auto dtype = static_cast<DType>(bundle[5]);
    if ((dtype != DType::float32 && dtype != DType::float64) ||
        base::get_little(bundle.data() + 6, 2) != 0 || parts == 0 ||
        base::get_little(bundle.data() + 20, 4) != 0)
        return damaged("its header says what no bundle says");
    BundleInfo info{dtype, 0, {}};
    info.parts.reserve(parts);
    std::size_t at = table_end(parts);
    for (std::size_t i = 0; i < parts; ++i) {
        const std::byte* line = bundle.data() + k_header_bytes + i * k_line_bytes;
        const auto bytes = static_cast<std::size_t>(base::get_little(line, 4));
        if (bytes > bundle.size() - at)
            return Status{StatusCode::insufficient_data,
                          fmt::format("bundle: it ends inside array {} of {}", i, parts)};
        BundleLine part{static_cast<std::uint32_t>(base::get_little(line + 4, 4)),
                        bundle.subspan(at, bytes),
                        {}};
        auto frame = read_frame_info(part.frame);
        if (!frame.ok()) return frame.status().with_context(fmt::format("array {}", i));
        if (frame->untyped || frame->dtype != dtype)
            return damaged(fmt::format("array {} is of another type", i));
        part.info = std::move(*frame);
        if (part.info.raw_bytes > std::numeric_limits<std::uint64_t>::max() - info.raw_bytes)
            return damaged("its arrays are larger than any memory");
        info.raw_bytes += part.info.raw_bytes;
        info.parts.push_back(std::move(part));
        at += bytes;
    }
    if (at != bundle.size()) return damaged("bytes follow its last array");
    return info;
}

Status decompress_bundle(Bytes bundle, std::span<std::byte> values, const TableSet* tables) try {
    const auto info = read_bundle_info(bundle);
    if (!info.ok()) return info.status();
    if (values.size() != info->raw_bytes)
        return {StatusCode::invalid_argument,
                fmt::format("a bundle of {} bytes to fill {}", info->raw_bytes, values.size())};
    std::size_t at = 0;
    for (std::size_t i = 0; i < info->parts.size(); ++i) {
        const BundleLine& part = info->parts[i];
        const auto raw = static_cast<std::size_t>(part.info.raw_bytes);
        if (Status status = decompress(part.frame, values.subspan(at, raw), tables); !status.ok())
            return status.with_context(fmt::format("array {}", i));
        at += raw;
    }
    return {};
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space, "no memory to decompress several arrays"};
}

}  // namespace caesura::codec
