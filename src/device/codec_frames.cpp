#include "device/codec_frames.hpp"

#include <fmt/format.h>

namespace caesura::device {

Result<std::uint64_t> compress_frame(std::span<const std::byte> piece, const Content& content,
                                     std::span<std::byte> frame) {
    const Result<std::size_t> bytes =
        content.bound.kind == ErrorBound::Kind::lossless
            ? compress_bytes_into(frame, piece, size_of(content.dtype))
            : compress_into(frame, piece, content.dtype, content.shape, content.bound);
    if (!bytes.ok()) return bytes.status();
    return static_cast<std::uint64_t>(*bytes);
}

Status decompress_frame(std::span<const std::byte> frame, std::span<std::byte> piece) {
    const Result<FrameInfo> info = read_frame_info(frame);
    if (!info.ok()) return info.status();
    if (info->raw_bytes != piece.size())
        return {StatusCode::invalid_argument,
                fmt::format("{} bytes, there is room for {}", info->raw_bytes, piece.size())};
    return decompress(frame, piece);
}

}  // namespace caesura::device
