// What the GPU does around nvCOMP's batches: say where chunks lie, move what they came to together
// into frames (nvcomp_format.hpp), look at frames before nvCOMP decompresses them.
//
// Compressing goes on in batches, because what nvCOMP needs beside input and output may be many
// times the input: begin, then for each batch nvCOMP and gather(), then end(). Nothing of it waits
// for the host; where a chunk goes is known from the sizes of those before it, which stay on the
// GPU.
//
// Invariants: C++17 and no headers of ours but nvcomp_format.hpp: nvcc compiles it too. Compiled
// and linked, run on the host's stand-in, not yet run on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "nvcomp/nvcomp_format.hpp"

namespace caesura::device::cuda {

/// In the device's memory.
struct NvcompPiece {
    const unsigned char* raw = nullptr;  ///< aligned to value_bytes
    std::uint64_t raw_bytes = 0;
    std::uint64_t first_chunk = 0;  ///< of all pieces' chunks
};

/// What is known when all was given.
struct NvcompOutcome {
    std::uint64_t body_bytes = 0;    ///< of all frames, so far
    std::uint64_t parcel_bytes = 0;  ///< 0 before end()
    std::int32_t status = 0;         ///< of a chunk that nvCOMP could not compress, or 0
    std::uint32_t too_large = 0;     ///< 1: a chunk came to more than nvCOMP had said
};

/// All in the device.
struct NvcompJob {
    const NvcompPiece* pieces = nullptr;  ///< [piece_count]
    std::uint64_t piece_count = 0, chunks = 0;
    unsigned char* parcel = nullptr;  ///< aligned to 16
    NvcompOutcome* outcome = nullptr;
    std::uint64_t* ends = nullptr;   ///< [chunks] of the bodies one after the other, filled up
    const void** from = nullptr;     ///< [chunks], filled by begin()
    std::uint64_t* bytes = nullptr;  ///< [chunks], likewise
    // Of a batch.
    std::uint64_t first = 0, count = 0, batch_chunks = 0;
    void** to = nullptr;                ///< [batch_chunks], filled by begin()
    std::uint64_t* to_bytes = nullptr;  ///< [batch_chunks], nvCOMP's; then what is stored
    std::int32_t* statuses = nullptr;   ///< [batch_chunks], nvCOMP's
    unsigned char* slots = nullptr;     ///< batch_chunks times slot_bytes, aligned to 16
    std::uint64_t slot_bytes = 0;
    void* scratch = nullptr;  ///< nvCOMP's
    std::uint64_t scratch_bytes = 0;
    std::uint32_t value_bytes = 4, library = 0;
    std::uint8_t coder = 0;
};

/// Give the work to the stream.
cudaError_t begin_nvcomp(const NvcompJob& job, cudaStream_t stream);
/// Of the chunks from `first` on, `count` of them.
cudaError_t gather_nvcomp(const NvcompJob& job, cudaStream_t stream);
cudaError_t end_nvcomp(const NvcompJob& job, cudaStream_t stream);

/// A chunk of a frame that the host has found to lie in it.
struct NvcompChunk {
    const unsigned char* data = nullptr;  ///< aligned to 4
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;    ///< the parts of its words, added
    unsigned char* raw = nullptr;  ///< aligned to 4: where it is copied to; null: it is compressed
};
struct NvcompLook {
    const NvcompChunk* chunks = nullptr;
    std::uint64_t count = 0;
    std::uint32_t* damaged = nullptr;  ///< becomes 1 where a checksum is wrong; else left as it is
};
/// Checksums are looked at, and raw chunks copied.
cudaError_t look_nvcomp(const NvcompLook& look, cudaStream_t stream);

}  // namespace caesura::device::cuda
