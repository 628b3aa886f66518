// A chunk that HDF5 may pass through the filter again: a frame, the grid that its values are
// rounded to, and values that come back bit for bit. docs/reference/filter_parameters.md has the
// bytes.
//
// Invariants:
//  - What is read has been checked: sizes, a checksum of the head, runs inside the chunk.
//  - It is longer than its frame by no more than the values it keeps and 160 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hdf5/filter/grid.hpp"

namespace caesura::hdf5 {

struct KeptChunk {
    Grid grid;  ///< to which all values of the frame are rounded
    /// The finest grid that any rounded value lies on, kept ones too; nullopt: none is rounded.
    std::optional<Fineness> finest;
    /// What values are held to once they are rounded: in their units, of their magnitude under a
    /// point-wise bound, decibels under a PSNR. 0: none is rounded.
    double bound = 0;
    std::span<const std::byte> frame;
    std::span<const std::byte> runs;    ///< a frame of bytes, or empty
    std::span<const std::byte> values;  ///< likewise
};

/// Values that come back bit for bit, `length` from `skipped` values behind the run before on.
struct KeptRun {
    std::uint32_t skipped = 0;
    std::uint32_t length = 0;
};

bool is_kept_chunk(std::span<const std::byte> stored);

/// Errors: corrupt, unsupported (a later version).
Result<KeptChunk> read_kept_chunk(std::span<const std::byte> stored);

/// Of what a chunk was stored as: a frame, or a chunk with kept values, whose frame says the bound
/// of the chunk. Errors: as read_kept_chunk() and read_frame_info().
Result<FrameInfo> stored_frame_info(std::span<const std::byte> stored);

/// @param chunk  of `frame`, grid and finest. @param values  those of the runs, one behind the
/// other.
Result<std::vector<std::byte>> write_kept_chunk(const KeptChunk& chunk,
                                                std::span<const KeptRun> runs,
                                                std::span<const std::byte> values,
                                                std::size_t value_bytes, bool checksum);

/// The same chunk, of another length than its values. HDF5 takes a chunk's filter mask for
/// unchanged if its length is: one that was skipped, as long as its values, would stay so.
/// @param stored  a frame of the whole chunk, or a chunk with kept values. @param values  of the
/// chunk, as this machine has them. Errors: as read_kept_chunk().
Result<std::vector<std::byte>> of_another_length(std::vector<std::byte> stored,
                                                 std::span<const std::byte> values,
                                                 std::size_t value_bytes, bool checksum);

/// Put kept values in their places. Errors: corrupt.
Status put_kept(const KeptChunk& chunk, std::size_t value_bytes, std::span<std::byte> values);

}  // namespace caesura::hdf5
