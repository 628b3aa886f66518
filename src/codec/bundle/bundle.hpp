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
// Or they are boxes of one array, the canvas, of which the rest has a fill value: so lies a level
// of a refined mesh in the chunks of its domain.
//
// Invariants:
//  - Each array keeps its own bound, as codec.hpp promises of a frame.
//  - No bundle has more than bundle_bytes_at_most() bytes.
//  - The header's checksum covers header and lines, each frame has its own; reading is safe on any
//    bytes.
#pragma once

#include <array>
#include <optional>

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
    /// It is a box of a canvas, which begins there; the same number of axes in all parts, or none.
    Shape offset = {};
    friend bool operator==(const BundlePart&, const BundlePart&) = default;
};

/// The array that boxes lie in.
struct Canvas {
    Shape shape;
    std::array<std::byte, 8> fill = {};  ///< what is in no box: one value, as it lies in memory
    friend bool operator==(const Canvas&, const Canvas&) = default;
};

/// The most bytes that a bundle of so many arrays and raw bytes can have, boxes or not.
std::uint64_t bundle_bytes_at_most(std::size_t parts, std::uint64_t raw_bytes);

/// @param values  of all parts, in their order, or of the canvas; any alignment.
/// @param parts   at least one; together as many values as there are. Interleaved ones are of one
///                shape. Boxes of a canvas share no value, and may leave some open.
/// @param canvas  where the parts are boxes; else none.
/// @param options  of every part's frame.
/// Errors: those of compress() of a part; invalid_argument (sizes).
Result<std::vector<std::byte>> compress_bundle(std::span<const std::byte> values, DType dtype,
                                               std::span<const BundlePart> parts,
                                               const CompressOptions& options = {},
                                               const Canvas* canvas = nullptr);
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
    Shape offset = {};  ///< of a box
    /// What a box has of its canvas.
    Box box() const { return {offset, info.shape}; }
};
struct BundleInfo {
    DType dtype = DType::float32;
    std::uint64_t raw_bytes = 0;  ///< of all arrays, or of the canvas
    std::vector<BundleLine> parts;
    bool interleaved = false;  ///< the values of all parts, which are of one shape, take turns
    std::optional<Canvas> canvas = {};  ///< the parts are boxes of it
};
/// What a bundle says of itself; frames are neither decoded nor checked.
/// Errors: insufficient_data (ends early), corrupt (no bundle, or damaged), unsupported (a later
/// version).
Result<BundleInfo> read_bundle_info(std::span<const std::byte> bundle);

/// The values of one array after the other, dense, however they lie in a bundle's values.
class BundleArrays {
  public:
    /// @param values  BundleInfo::raw_bytes. All outlive it.
    BundleArrays(std::span<const std::byte> values, const BundleInfo& bundle);
    /// @param canvas  null: the parts are not boxes.
    BundleArrays(std::span<const std::byte> values, DType dtype, std::span<const BundlePart> parts,
                 const Canvas* canvas);
    /// Valid until the next call. Throws std::bad_alloc.
    std::span<const std::byte> next();

  private:
    struct Place {
        Shape offset, shape;
    };
    std::span<const std::byte> values_;
    std::size_t value_bytes_;
    bool interleaved_;
    const Canvas* canvas_;
    std::vector<Place> places_;
    std::size_t taken_ = 0, array_ = 0;
    std::vector<std::byte> dense_;
};

/// @param values  BundleInfo::raw_bytes. @param tables  as decompress().
/// Errors: those of read_bundle_info and decompress; invalid_argument (size of `values`).
Status decompress_bundle(std::span<const std::byte> bundle, std::span<std::byte> values,
                         const TableSet* tables = nullptr);

}  // namespace caesura::codec
