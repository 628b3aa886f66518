// The frame: what lies around the coded values, byte by byte.
// docs/reference/block_frame.md is its prose.
//
// Invariants:
//  - Header, slab table and part headers are written and read here and nowhere else.
//  - Whatever a reader returns has been checked against the bytes that are there: shapes whose
//    bytes do not overflow, parts that tile the frame exactly, sections that tile their part.
//  - Checksums cover every byte but their own: the frame's covers what has none of its own, and
//    each slab's part has one, so that threads make and check them side by side.
//
// Frame = header, slab table (if cut into slabs), parts. One part per slab.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/entropy/entropy.hpp"
#include "codec/frame/output.hpp"
#include "codec/frame/slabs.hpp"
#include "codec/predictors/predictors.hpp"

namespace caesura::codec {

inline constexpr std::uint8_t k_frame_version = 1;
/// Of a frame with a part that is split.
inline constexpr std::uint8_t k_split_frame_version = 2;
/// Of a frame of integers.
inline constexpr std::uint8_t k_integer_frame_version = 3;
/// Of a frame of a type that is coded as another one: boolean, float16, bfloat16.
inline constexpr std::uint8_t k_recoded_frame_version = 4;
/// Of a frame with adaptively coded codes. Its parts may be split.
inline constexpr std::uint8_t k_adaptive_frame_version = 5;
/// Of a frame with missing values (masked_frame.hpp), around one of the others.
inline constexpr std::uint8_t k_masked_frame_version = 6;
inline constexpr std::uint8_t k_last_frame_version = 6;

/// The start of every frame: 24 bytes and 8 per axis.
struct FrameHeader {
    std::uint8_t version = k_frame_version;
    bool checksum = true;
    bool slabs = false;            ///< a slab table follows; else one part
    bool untyped = false;          ///< bytes of compress_bytes(): shape is {bytes, value_bytes}
    DType dtype = DType::float32;  ///< if not untyped
    /// Version 4: values of 16 bits are coded as float32 (recode.hpp); else as integers.
    bool widened = false;
    Shape shape;
    ErrorBound bound;

    /// What the parts are made of and decode to, where that is another type.
    FrameHeader as_coded() const;
    /// Bytes of one value of the lossless and raw parts.
    std::size_t value_bytes() const {
        return untyped ? static_cast<std::size_t>(shape[1]) : size_of(dtype);
    }
    /// Bytes of the array.
    std::uint64_t raw_bytes() const { return untyped ? shape[0] : shape.count() * size_of(dtype); }
    /// Of the header itself.
    std::size_t header_bytes() const { return 24 + 8 * static_cast<std::size_t>(shape.rank()); }
};

/// Append the header; the checksum stays 0 until seal().
void write_header(const FrameHeader& header, Output& out);
/// Errors: insufficient_data, corrupt, unsupported.
Result<FrameHeader> read_header(std::span<const std::byte> frame);

/// A frame taken apart: its header and where each slab's part lies.
struct FrameLayout {
    FrameHeader header;
    Slabs slabs = Slabs::one(Shape{1});
    std::vector<std::span<const std::byte>> parts;  ///< one per slab, each at least one byte
    std::vector<std::uint64_t> part_checksums;      ///< one per slab if there is a slab table
};

/// Append a slab table with sizes of 0; set_part() fills them in.
void write_slab_table(const Slabs& slabs, Output& out);
void set_part(std::span<std::byte> frame, const FrameHeader& header, std::uint64_t index,
              std::uint64_t part_bytes, std::uint64_t checksum);
std::uint64_t part_checksum(std::span<const std::byte> part, std::uint64_t index);
/// Stamp the version that a frame's parts ask for, if it is not the first. Errors: those of
/// read_layout.
Status stamp_version(std::span<std::byte> frame);
/// Stamp the checksum of a complete frame that announces one. Errors: those of read_layout.
Status seal(std::span<std::byte> frame);

/// Of a frame that is not masked. Errors: as read_header, no_space. Memory: at most 24 bytes per 17
/// of the frame.
Result<FrameLayout> read_layout(std::span<const std::byte> frame);
/// The frame's checksum, of a frame that has one. Errors: corrupt (it does not match).
Status verify_checksum(std::span<const std::byte> frame, const FrameLayout& layout);
/// Likewise of one part of a frame with a slab table.
Status verify_part(const FrameLayout& layout, std::uint64_t index);

/// How a slab is stored. The first byte of its part.
enum class PartKind : std::uint8_t {
    raw = 0,
    lossless = 1,
    constant = 2,  ///< one value that all are
    lorenzo = 3,
    interpolation = 4,
    split = 5,     ///< two parts (split.hpp); from frame version 2 on
    integers = 6,  ///< of integers (integers/integer_part.hpp); from frame version 3 on
};

/// The sections of a lossy part, in their order.
enum class Section : std::uint8_t {
    codes = 0,               ///< what the entropy coder wrote
    exact_values = 1,        ///< of the predictor
    exact_positions = 2,     ///< of the predictor
    signs = 3,               ///< logarithm: bit per value
    zeros = 4,               ///< logarithm: bit per value
    override_values = 5,     ///< values put in place at the end
    override_positions = 6,  ///< of those
};
inline constexpr std::size_t k_sections = 7;

/// A predicted slab has fewer values: positions are of 32 bits.
inline constexpr std::uint64_t k_most_predicted_values = std::uint64_t{1} << 31;

/// The head of a lorenzo or interpolation part.
struct PartHeader {
    PartKind kind = PartKind::lorenzo;
    Coding coding = Coding::rans;
    bool own_tables = false;  ///< the codes carry the tables they need
    bool logarithm = false;   ///< codes are of log2|x| - centre
    bool overrides = false;   ///< some values are put in place at the end; so always for logarithms
    std::int32_t centre = 0;
    double step = 0;                 ///< exactly a T
    double bound = 0;                ///< exactly a T: what every value, or logarithm, is held to
    std::uint64_t table_set_id = 0;  ///< the shared set; 0: built in, own or none
    std::uint32_t exact_count = 0;
    std::uint32_t override_count = 0;
    LorenzoSettings lorenzo;
    InterpolationSettings interpolation;
};

struct Part {
    PartHeader header;
    std::array<std::span<const std::byte>, k_sections> sections;
    std::span<const std::byte> operator[](Section section) const {
        return sections[static_cast<std::size_t>(section)];
    }
};

/// Writes a part into `out`: the head first, then section after section, each appended by its maker
/// (an entropy coder's output is too large to be copied for nothing); finish() puts in the sizes.
class PartWriter {
  public:
    PartWriter(const PartHeader& header, Output& out);
    /// What has been appended to `out` since the last call (or the start) is this section. In
    /// ascending order; a section left out is empty.
    void end_section(Section section);
    /// The final head: counts and tables may have become known meanwhile; whether there are
    /// overrides may not have changed.
    void finish(const PartHeader& header);

  private:
    Output& out_;
    std::size_t begin_;          // of the part in out_
    std::size_t section_begin_;  // of the section being written
    std::array<std::uint64_t, k_sections> section_bytes_{};
};

/// Is this a lossy part whose codes are coded adaptively?
bool is_adaptive(std::span<const std::byte> part);

/// What is wrong with a part.
Status corrupt_part(std::string what);

/// `part` begins with a lossy kind. shape: of its slab. Errors: corrupt, unsupported.
Result<Part> read_part(std::span<const std::byte> part, const Shape& shape);

}  // namespace caesura::codec
