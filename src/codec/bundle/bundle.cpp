#include "codec/bundle/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "base/little_endian.hpp"
#include "codec/frame/frame.hpp"
#include "codec/kernels/checksum.hpp"

namespace caesura::codec {
namespace {

constexpr std::array k_magic = {std::byte{0x8a}, std::byte{'C'}, std::byte{'B'}, std::byte{'N'}};
/// Interleaved arrays have a version of their own: readers of the first one refuse them by name.
constexpr int k_version = 1, k_interleaved_version = 2;
constexpr std::uint64_t k_interleaved_layout = 1;
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
    if (dtype != DType::float32 && dtype != DType::float64)
        return {StatusCode::invalid_argument,
                fmt::format("arrays of {}; a bundle has floating-point ones", to_string(dtype))};
    std::uint64_t count = 0;
    for (const BundlePart& part : parts) count += part.shape.count();
    for (const BundlePart& part : parts)
        if (part.interleaved != parts[0].interleaved ||
            (part.interleaved && part.shape != parts[0].shape))
            return {StatusCode::invalid_argument, "arrays that are interleaved have one shape"};
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

/// The values of one array, where they take turns as where they follow each other.
class Arrays {
  public:
    Arrays(Bytes values, std::size_t value_bytes, std::size_t arrays, bool interleaved)
        : values_(values), value_bytes_(value_bytes), arrays_(arrays), interleaved_(interleaved) {}
    /// The next one, of so many bytes; valid until the next call.
    Bytes next(std::size_t bytes) {
        if (!interleaved_) {
            taken_ += bytes;
            return values_.subspan(taken_ - bytes, bytes);
        }
        dense_.resize(bytes);
        take_turns_of(values_, value_bytes_, arrays_, array_++, dense_);
        return dense_;
    }

  private:
    Bytes values_;
    std::size_t value_bytes_, arrays_;
    bool interleaved_;
    std::size_t taken_ = 0, array_ = 0;
    std::vector<std::byte> dense_;
};

template <class Value>
void take_turns(Bytes values, std::size_t step, std::size_t array, std::span<std::byte> dense) {
    const std::byte* from = values.data() + array * sizeof(Value);
    for (std::size_t at = 0; at < dense.size(); at += sizeof(Value), from += step)
        std::memcpy(dense.data() + at, from, sizeof(Value));
}

template <class Value>
void put_turns(Bytes dense, std::size_t step, std::size_t array, std::span<std::byte> values) {
    std::byte* to = values.data() + array * sizeof(Value);
    for (std::size_t at = 0; at < dense.size(); at += sizeof(Value), to += step)
        std::memcpy(to, dense.data() + at, sizeof(Value));
}

}  // namespace

void take_turns_of(Bytes values, std::size_t value_bytes, std::size_t arrays, std::size_t array,
                   std::span<std::byte> dense) {
    if (value_bytes == sizeof(float))
        take_turns<float>(values, arrays * value_bytes, array, dense);
    else
        take_turns<double>(values, arrays * value_bytes, array, dense);
}

void put_turns_of(Bytes dense, std::size_t value_bytes, std::size_t arrays, std::size_t array,
                  std::span<std::byte> values) {
    if (value_bytes == sizeof(float))
        put_turns<float>(dense, arrays * value_bytes, array, values);
    else
        put_turns<double>(dense, arrays * value_bytes, array, values);
}

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
    const bool interleaved = parts[0].interleaved;
    bundle[4] = static_cast<std::byte>(interleaved ? k_interleaved_version : k_version);
    bundle[5] = static_cast<std::byte>(dtype);
    base::put_little(bundle.data() + 6, interleaved ? k_interleaved_layout : 0, 2);
    base::put_little(bundle.data() + 16, parts.size(), 4);
    Arrays arrays(values, size_of(dtype), parts.size(), interleaved);
    std::size_t at = table_end(parts.size());
    std::byte* line = bundle.data() + k_header_bytes;
    for (const BundlePart& part : parts) {
        const std::size_t raw = part.shape.count() * size_of(dtype);
        const auto bytes = compress_part_into(std::span(bundle).subspan(at), arrays.next(raw),
                                              dtype, part, options);
        if (!bytes.ok()) return bytes.status();
        base::put_little(line, *bytes, 4);
        base::put_little(line + 4, part.component, 4);
        line += k_line_bytes;
        at += *bytes;
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
    const auto version = std::to_integer<int>(bundle[4]);
    if (version != k_version && version != k_interleaved_version)
        return Status{StatusCode::unsupported,
                      fmt::format("bundle: version {}; this library reads 1 and 2", version)};
    const bool interleaved = version == k_interleaved_version;
    const auto parts = static_cast<std::size_t>(base::get_little(bundle.data() + 16, 4));
    if (bundle.size() < table_end(parts))
        return Status{StatusCode::insufficient_data, "bundle: it ends inside its lines"};
    if (base::get_little(bundle.data() + 8, 8) != checksum_of(bundle, parts))
        return damaged("the checksum of its header is wrong");
    const auto dtype = static_cast<DType>(bundle[5]);
    if ((dtype != DType::float32 && dtype != DType::float64) ||
        base::get_little(bundle.data() + 6, 2) != (interleaved ? k_interleaved_layout : 0) ||
        parts == 0 || base::get_little(bundle.data() + 20, 4) != 0)
        return damaged("its header says what no bundle says");
    BundleInfo info{dtype, 0, {}, interleaved};
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
        if (interleaved && i > 0 && part.info.shape != info.parts[0].info.shape)
            return damaged(fmt::format("array {} has another shape than those it is among", i));
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
