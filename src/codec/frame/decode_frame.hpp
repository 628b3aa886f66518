// Frames back to arrays: what decompress() is made of.
#pragma once

#include "codec/frame/frame.hpp"

namespace caesura::codec {

/// decompress(), but for the exceptions: throws std::bad_alloc.
Status decode_frame(std::span<const std::byte> frame, std::span<std::byte> values,
                    const TableSet* tables, int threads);

/// Decode slab `index` of a frame that read_layout took apart, with this thread's working memory.
/// Throws std::bad_alloc.
Status decode_slab(const FrameLayout& layout, std::uint64_t index, const TableSet* tables,
                   std::span<std::byte> values);

}  // namespace caesura::codec
