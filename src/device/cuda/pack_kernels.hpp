// Packed frames (codec/packed/packed.hpp) made and read by a GPU: the same functions of
// packed_block.hpp, a thread for each group, a block of threads for each chunk.
//
// Packing passes twice over the values: how many words each chunk takes, and, when it is known
// where they go, the words. Between them one block of threads adds up. Nothing is needed beside the
// parcel's own memory.
//
// Invariants: C++17 and no headers of ours but packed_format.hpp: nvcc compiles it too. Compiled
// and linked, not yet run on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/packed/packed_format.hpp"

namespace caesura::device::cuda {

using codec::packed::PackedHeader;

/// In the device's memory.
struct PackPiece {
    const unsigned char* values = nullptr;  ///< aligned as values are
    std::uint64_t raw_bytes = 0;
    std::uint64_t first_chunk = 0;   ///< of all pieces' chunks
    std::uint64_t frame_offset = 0;  ///< filled by the GPU
};

struct PackJob {
    PackPiece* pieces = nullptr;  ///< [piece_count], in the device
    std::uint64_t piece_count = 0, chunks = 0;
    std::uint64_t* ends = nullptr;    ///< [chunks + 1], in the device; the last: parcel's bytes
    unsigned char* parcel = nullptr;  ///< aligned to 8
    double bound = 0.0;
    std::uint32_t value_bytes = 4;
};

/// Gives the work to the stream. ends[chunks] is then the parcel's size.
cudaError_t pack(const PackJob& job, cudaStream_t stream);

struct UnpackJob {
    const unsigned char* frame = nullptr;  ///< aligned to 8
    PackedHeader header;                   ///< of it, checked
    unsigned char* values = nullptr;       ///< aligned as values are
    std::uint32_t* damaged = nullptr;      ///< becomes 1 where a chunk is; else left as it is
};

/// Gives the work to the stream; the tail is not written.
cudaError_t unpack(const UnpackJob& job, cudaStream_t stream);

/// The application's own work, for benchmarks: keeps the stream busy for so long.
cudaError_t busy(double seconds, cudaStream_t stream);

}  // namespace caesura::device::cuda
