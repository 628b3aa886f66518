#include "device/parcel.hpp"

#include <fmt/format.h>

#include <cstring>

#include "caesura/codec.hpp"

namespace caesura::device {
namespace {

constexpr std::uint64_t k_number_bytes = 8;

void write_number(std::byte* at, std::uint64_t number) {
    for (std::uint64_t i = 0; i < k_number_bytes; ++i)
        at[i] = static_cast<std::byte>(number >> (8 * i));
}

std::uint64_t read_number(const std::byte* at) {
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i < k_number_bytes; ++i)
        number |= static_cast<std::uint64_t>(at[i]) << (8 * i);
    return number;
}

}  // namespace

Status validate(const Content& content, std::uint64_t piece_bytes) {
    const ErrorBound::Kind kind = content.bound.kind;
    if (kind != ErrorBound::Kind::lossless && kind != ErrorBound::Kind::absolute)
        return {StatusCode::unsupported,
                "a bound of this kind; checkpoints are lossless or have an absolute bound"};
    if (Status status = caesura::validate(content.bound); !status.ok()) return status;
    if (content.shape.rank() == 0) {
        if (kind == ErrorBound::Kind::lossless) return {};
        return {StatusCode::invalid_argument,
                "a bound, and no shape: say what the values of a checkpoint are"};
    }
    const std::uint64_t bytes = content.shape.count() * size_of(content.dtype);
    if (bytes == piece_bytes) return {};
    return {StatusCode::invalid_argument,
            fmt::format("{} values of {} are {} bytes, and a checkpoint has {}",
                        to_string(content.shape), to_string(content.dtype), bytes, piece_bytes)};
}

std::uint64_t parcel_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes) {
    return k_number_bytes + pieces * (k_number_bytes + k_frame_overhead_bytes) + bytes;
}

Result<std::uint64_t> pack(std::span<const std::span<const std::byte>> pieces,
                           const Content& content, std::span<std::byte> parcel) {
    std::uint64_t raw_bytes = 0;
    for (const auto& piece : pieces) raw_bytes += piece.size();
    if (parcel.size() < parcel_bytes_at_most(pieces.size(), raw_bytes))
        return Status{StatusCode::invalid_argument,
                      fmt::format("a parcel of {} bytes is too small for {} pieces of together {}",
                                  parcel.size(), pieces.size(), raw_bytes)};
    write_number(parcel.data(), pieces.size());
    std::uint64_t at = k_number_bytes * (1 + pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (Status status = validate(content, pieces[i].size()); !status.ok())
            return status.with_context(fmt::format("piece {}", i));
        const auto room = parcel.subspan(at, pieces[i].size() + k_frame_overhead_bytes);
        const Result<std::size_t> frame =
            content.bound.kind == ErrorBound::Kind::lossless
                ? compress_bytes_into(room, pieces[i], size_of(content.dtype))
                : compress_into(room, pieces[i], content.dtype, content.shape, content.bound);
        if (!frame.ok()) return frame.status().with_context(fmt::format("piece {}", i));
        write_number(parcel.data() + k_number_bytes * (1 + i), *frame);
        at += *frame;
    }
    return at;
}

Status unpack(std::span<const std::byte> parcel, std::uint64_t index, std::span<std::byte> piece) {
    if (parcel.size() < k_number_bytes)
        return {StatusCode::insufficient_data, "a parcel of less than 8 bytes"};
    const std::uint64_t pieces = read_number(parcel.data());
    const std::uint64_t room = parcel.size() / k_number_bytes - 1;
    if (pieces > room)
        return {StatusCode::corrupt,
                fmt::format("a parcel of {} bytes says it has {} pieces", parcel.size(), pieces)};
    if (index >= pieces)
        return {StatusCode::invalid_argument,
                fmt::format("piece {} of a parcel of {}", index, pieces)};
    std::uint64_t at = k_number_bytes * (1 + pieces), bytes = 0;
    for (std::uint64_t i = 0; i <= index; ++i) {
        at += bytes;
        bytes = read_number(parcel.data() + k_number_bytes * (1 + i));
        if (bytes > parcel.size() - at)
            return {StatusCode::insufficient_data,
                    fmt::format("piece {} is said to end {} bytes beyond the parcel", i,
                                bytes - (parcel.size() - at))};
    }
    const auto frame = parcel.subspan(at, bytes);
    const Result<FrameInfo> info = read_frame_info(frame);
    if (!info.ok()) return info.status().with_context(fmt::format("piece {}", index));
    if (info->raw_bytes != piece.size())
        return {StatusCode::invalid_argument,
                fmt::format("piece {} has {} bytes, there is room for {}", index, info->raw_bytes,
                            piece.size())};
    return decompress(frame, piece).with_context(fmt::format("piece {}", index));
}

}  // namespace caesura::device
