// Caesura's codec as an HDF5 filter: its number, and what its cd_values say. No HDF5 needed.
//
// Invariants:
//  - A chunk and its dataset's cd_values are all that decoding takes.
//  - parse_cd_values(to_cd_values(s)) is s. What is read has been checked: kinds, bound, extents,
//    table set.
//  - Two forms. The user's: up to four small numbers that one can type. The full one: made by
//    to_cd_values() and by the plugin when a dataset is created; it is what lies in files.
//    docs/reference/filter_parameters.md has both, word by word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "hdf5/filter/grid.hpp"

namespace caesura::hdf5 {

/// The filter's number; 256 to 511 is HDF5's range for testing. This line is the only place that
/// knows. docs/reference/filter_registration.md has the text that asks The HDF Group for a number
/// of our own.
inline constexpr unsigned k_filter_id = 322;
/// Shown by h5dump and h5ls.
inline constexpr const char* k_filter_name = "caesura error-bounded compressor";

/// What the values of a dataset are to the codec.
enum class Element : std::uint8_t {
    unknown = 0,  ///< not said yet: the plugin fills it in when the dataset is created
    float32 = 1,
    float64 = 2,
    bytes = 3,  ///< anything else: stored exactly, whatever the bound
    float16 = 4,
    bfloat16 = 5,
};

struct Settings {
    Mode mode = Mode::automatic;
    bool checksum = true;
    /// relative and psnr: of each chunk's own value range.
    ErrorBound bound;
    Element element = Element::unknown;
    bool big_endian = false;          ///< of floating point: as it lies in the file
    std::uint32_t element_bytes = 0;  ///< of one value; 0: not known
    /// Extents of a chunk as HDF5 has them (1 to 32 axes), or with axes cut into several: what its
    /// values are, e.g. 64 x 64 x 64 in a chunk of 262144. Empty: not known, any size goes.
    std::vector<std::uint32_t> chunk;
    TableSet tables;  ///< the shared set that chunks were, or shall be, coded with
    /// The dataset's fill value as a number of its bytes, where chunks hold their bound however
    /// often they pass the filter (repeatable.hpp). Nothing: parameters of version 1 or 2.
    std::optional<std::uint64_t> fill;
    friend bool operator==(const Settings&, const Settings&) = default;

    bool complete() const { return element != Element::unknown && !chunk.empty(); }
    /// Bytes of a chunk; 0: not known.
    std::uint64_t chunk_bytes() const;
};

/// Settings of a dataset as the writer knows it: everything filled in.
Settings settings_of(DType dtype, const Shape& chunk, const ErrorBound& bound, Mode mode,
                     const TableSet& tables);

/// The full form. Errors: invalid_argument (bound, extents, a chunk of 4 GiB or more).
Result<std::vector<unsigned>> to_cd_values(const Settings& settings);

/// Either form. Errors: corrupt (neither form, or values that cannot be), unsupported (a later
/// version of the full form).
Result<Settings> parse_cd_values(std::span<const unsigned> cd_values);

/// A full chunk becomes a frame, or a chunk with kept values. Values of an unknown type are stored
/// exactly.
/// @param decoded  the finest grid of all chunks with these settings that this process has decoded
///                 (finest_grid()): values on it may have been rounded, and stay as they are.
///                 nullopt: it has decoded none.
/// Errors: invalid_argument (size; a lossy bound for values of unknown type or shape), no_space.
Result<std::vector<std::byte>> encode_chunk(const Settings& settings,
                                            std::span<const std::byte> chunk,
                                            std::optional<Fineness> decoded = std::nullopt);

/// The finest grid that values lie on which decoding will give; nullopt: no value was rounded.
/// Errors: none; of what cannot be decoded it says nothing.
std::optional<Fineness> finest_grid(const Settings& settings, std::span<const std::byte> stored);

/// How many bytes decode_chunk() will fill: a chunk's, or the frame's own where the settings do not
/// know. Errors: those of read_frame_info; corrupt (a frame that cannot belong to the dataset,
/// 4 GiB or more).
Result<std::uint64_t> decoded_bytes(const Settings& settings, std::span<const std::byte> frame);

/// What was stored becomes a full chunk. A frame of fewer values than the chunk (the part of a
/// chunk that lies inside the array) goes to the corner at index 0 of every axis; the rest becomes
/// zero.
/// @param chunk  decoded_bytes() bytes.
/// Errors: those of decoded_bytes and decompress. Safe on any bytes.
Status decode_chunk(const Settings& settings, std::span<const std::byte> frame,
                    std::span<std::byte> chunk);

}  // namespace caesura::hdf5
