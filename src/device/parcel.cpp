#include "device/parcel.hpp"

#include <fmt/format.h>

#include <cstring>

#include "caesura/codec.hpp"

namespace caesura::device {
namespace {

constexpr std::uint64_t k_number_bytes = 8;
constexpr std::size_t k_value_bytes = 4;  // GPU fields are float32; others compress a bit less

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

std::uint64_t parcel_bytes_at_most(std::uint64_t pieces, std::uint64_t bytes) {
    return k_number_bytes + pieces * (k_number_bytes + k_frame_overhead_bytes) + bytes;
}

Result<std::uint64_t> pack(std::span<const std::span<const std::byte>> pieces,
                           std::span<std::byte> parcel) {
    std::uint64_t raw_bytes = 0;
    for (const auto& piece : pieces) raw_bytes += piece.size();
    if (parcel.size() < parcel_bytes_at_most(pieces.size(), raw_bytes))
        return Status{StatusCode::invalid_argument,
                      fmt::format("a parcel of {} bytes is too small for {} pieces of together {}",
                                  parcel.size(), pieces.size(), raw_bytes)};
    write_number(parcel.data(), pieces.size());
    std::uint64_t at = k_number_bytes * (1 + pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto room = parcel.subspan(at, pieces[i].size() + k_frame_overhead_bytes);
        const Result<std::size_t> frame = compress_bytes_into(room, pieces[i], k_value_bytes);
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
