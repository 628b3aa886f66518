#include "device/codec_frames.hpp"

namespace caesura::device {

Result<std::uint64_t> compress_frame(std::span<const std::byte>, const Content&,
                                     std::span<std::byte>) {
    return Status{StatusCode::unsupported,
                  "this build has no codec of its own (CAESURA_DEVICE_ONLY); use Coder::packed"};
}

Status decompress_frame(std::span<const std::byte>, std::span<std::byte>) {
    return {StatusCode::unsupported,
            "not a packed frame, and this build has no codec of its own (CAESURA_DEVICE_ONLY)"};
}

}  // namespace caesura::device
