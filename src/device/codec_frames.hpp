// Frames of our codec as parcels hold them. A build without the codec's dependencies has
// codec_frames_none.cpp in place of codec_frames.cpp, which refuses.
#pragma once

#include "caesura/device.hpp"

namespace caesura::device {

/// @param frame  the piece's bytes + k_frame_overhead_bytes.
/// @return how many bytes it has. Errors: those of compress(); unsupported (built without).
Result<std::uint64_t> compress_frame(std::span<const std::byte> piece, const Content& content,
                                     std::span<std::byte> frame);

/// @param piece  as many bytes as the frame says. Errors: those of decompress(); unsupported (built
/// without).
Status decompress_frame(std::span<const std::byte> frame, std::span<std::byte> piece);

}  // namespace caesura::device
