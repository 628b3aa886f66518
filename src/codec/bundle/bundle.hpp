// Bundles: the values of one chunk that are several arrays, one after the other, as a frame each.
//
//     header (24 bytes) | a line of 8 bytes for each array | the arrays' frames
//
// A dataset may hold many arrays of different shapes, and of different quantities: box after box of
// a refined level, density, momenta, temperature of each. A chunk is cut from it anywhere. What
// lies in it is compressed array by array, each with its own shape and bound;
// docs/reference/block_frame.md has the bytes.
//
// Or the arrays are interleaved: the first value of each, then the second of each, and so on. So
// lie the members of a compound type.
//
// Invariants:
//  - Each array keeps its own bound, as codec.hpp promises of a frame.
//  - No bundle has more than bundle_bytes_at_most() bytes.
//  - The header's checksum covers header and lines, each frame has its own; reading is safe on any
//    bytes.
#pragma once

#include "caesura/codec.hpp"

namespace caesura::codec {

/// An array of a chunk. Where it ends the next one begins, unless they are interleaved.
struct BundlePart {
    Shape shape;                  ///< 1 to 4 axes, every extent >= 1
    ErrorBound bound = {};        ///< relative and psnr take the range of this very array
    std::uint32_t component = 0;  ///< which of the dataset's quantities it is
    bool as_it_is = false;        ///< not compressed at all
    /// The values of all arrays take turns, of which there are the same shapes then; the same of
    /// all parts.
    bool interleaved = false;
    friend bool operator==(const BundlePart&, const BundlePart&) = default;
};

/// From values of which those of `arrays` arrays take turns, those of number `array`, dense.
void take_turns_of(std::span<const std::byte> values, std::size_t value_bytes, std::size_t arrays,
                   std::size_t array, std::span<std::byte> dense);
/// The other way round.
void put_turns_of(std::span<const std::byte> dense, std::size_t value_bytes, std::size_t arrays,
                  std::size_t array, std::span<std::byte> values);

/// The most bytes that a bundle of so many arrays and raw bytes can have.
std::uint64_t bundle_bytes_at_most(std::size_t parts, std::uint64_t raw_bytes);

/// @param values  of all parts, in their order; any alignment.
/// @param parts   at least one; together as many values as there are. Interleaved ones are of one
///                shape.
/// @param options  of every part's frame.
/// Errors: those of compress() of a part; invalid_argument (sizes).
Result<std::vector<std::byte>> compress_bundle(std::span<const std::byte> values, DType dtype,
                                               std::span<const BundlePart> parts,
                                               const CompressOptions& options = {});
/// One array as a plain frame; what a bundle of one would hold. Errors: those of compress().
Result<std::vector<std::byte>> compress_part(std::span<const std::byte> values, DType dtype,
                                             const BundlePart& part,
                                             const CompressOptions& options = {});

/// Does it begin like one?
bool is_bundle(std::span<const std::byte> bytes);

struct BundleLine {
    std::uint32_t component = 0;
    std::span<const std::byte> frame;
    FrameInfo info;
};
struct BundleInfo {
    DType dtype = DType::float32;
    std::uint64_t raw_bytes = 0;  ///< of all arrays
    std::vector<BundleLine> parts;
    bool interleaved = false;  ///< the values of all parts, which are of one shape, take turns
};
/// What a bundle says of itself; frames are neither decoded nor checked.
/// Errors: insufficient_data (ends early), corrupt (no bundle, or damaged), unsupported (a later
/// version).
Result<BundleInfo> read_bundle_info(std::span<const std::byte> bundle);

/// @param values  BundleInfo::raw_bytes. @param tables  as decompress().
/// Errors: those of read_bundle_info and decompress; invalid_argument (size of `values`).
Status decompress_bundle(std::span<const std::byte> bundle, std::span<std::byte> values,
                         const TableSet* tables = nullptr);

}  // namespace caesura::codec
