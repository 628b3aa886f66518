// The residual codes inside a frame, so that another entropy coder can be tried on them: what a
// frame would take with it is the frame without its code sections, and the other coder's sections.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caesura/codec.hpp"

namespace caesura::lab::huffman {

struct FrameCodes {
    std::vector<std::vector<std::uint32_t>> slabs;  ///< of those that were coded by rANS
    std::uint64_t section_bytes = 0;                ///< what the frame spends on them
};

/// @param tables  the set that the frame was made with; null: the built-in one.
/// Errors: those of read_frame_info; invalid_argument (a table set is missing).
Result<FrameCodes> codes_of(std::span<const std::byte> frame, const TableSet* tables);

}  // namespace caesura::lab::huffman
