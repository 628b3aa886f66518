// Frames of arrays with missing values: where those are, as runs, and a plain frame of the array
// with its holes filled. docs/reference/block_frame.md has the bytes.
//
// Invariants:
//  - Missing values come back bit for bit; all others keep the bound, whose range is theirs alone.
//  - The frame inside is one of versions 1 to 5 and knows nothing of the mask.
#pragma once

#include <optional>

#include "codec/bound/missing.hpp"
#include "codec/frame/frame.hpp"

namespace caesura::codec {

/// An array taken apart.
struct MaskedArray {
    Mask mask;
    /// The values, holes filled. Empty: more values are missing than a mask can tell apart.
    std::vector<std::byte> filled;
    /// What the filled array is held to, so that the others keep what was asked for.
    ErrorBound bound;
};

/// The array without its missing values: the known ones, and suspects. nullopt: it has none. Where
/// the bound asks for no range, a sample says whether to look for suspects at all.
/// @param range  the finite values' range is left there, where a bound asks for it. May be null.
/// Throws std::bad_alloc.
std::optional<MaskedArray> without_missing(std::span<const std::byte> values, DType dtype,
                                           const Shape& shape, const ErrorBound& bound,
                                           const CompressOptions& options,
                                           std::optional<FiniteRange>* range);

/// Where in an array the value lies that is the index-th of a part.
std::uint64_t index_in(const Box& array_box, const Box& part, std::uint64_t index);
/// Does a sample of a part of an array have missing values? @param array_box, part  as
/// estimate_part(). Cost: 10 to 20 us.
bool looks_masked(const std::byte* array, DType dtype, const Box& array_box, const Box& part,
                  const ErrorBound& bound, const CompressOptions& options);

/// Append all but the frame inside; its checksum covers nothing else.
void write_masked_head(const FrameHeader& header, const Mask& mask, Output& out);

bool is_masked(std::span<const std::byte> frame);

struct MaskedLayout {
    FrameHeader header;
    ValueBits values;
    std::uint64_t missing = 0, runs = 0;
    std::span<const std::byte> lengths, labels;  ///< sections
    std::size_t head_bytes = 0;                  ///< of all but the frame inside
    std::span<const std::byte> inside;
};
/// Errors: insufficient_data, corrupt, unsupported. The frame inside is one of such an array.
Result<MaskedLayout> read_masked(std::span<const std::byte> frame);
/// The mask, checked. Errors: corrupt. Throws std::bad_alloc.
Result<Mask> unpack_mask(const MaskedLayout& layout);
/// Errors: corrupt (the checksum of the head does not match).
Status verify_masked_head(std::span<const std::byte> frame, const MaskedLayout& layout);

}  // namespace caesura::codec
