// Parcels made and read by nvCOMP's coders (nvcomp.hpp): chunks, batches and checks of the
// host around the library and our kernels.
//
// Compressing goes on in batches, so that what nvCOMP needs beside input and output (5.5 times the
// input for Gdeflate, half of it for LZ4) and the room for chunks that grow are those of a batch.
// They lie in the parcel's room, which the cap counts, and are at most CudaOptions::work_bytes
// unless one chunk needs more.
//
// Invariants: nvCOMP decompresses only chunks that lie in the frame, whose raw bytes lie in the
// piece, and whose checksums are right.
#pragma once

#include "device/cuda/packer.hpp"
#include "nvcomp/nvcomp.hpp"
#include "nvcomp/nvcomp_frame.hpp"
#include "nvcomp/nvcomp_kernels.hpp"

namespace caesura::device::cuda {

class NvcompCoder final : public ParcelCoder {
  public:
    static Result<std::unique_ptr<NvcompCoder>> create(const CudaOptions& options,
                                                       cudaStream_t stream, cudaMemPool_t pool);
    std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const override;
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                   const Content& content, std::span<std::byte> parcel) override;
    Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                      std::span<std::byte> piece) override;

  private:
    /// So many chunks at once, and the memory that nvCOMP takes beside their input and output.
    struct Batch {
        std::uint64_t chunks = 0, scratch_bytes = 0;
    };
    /// Where things lie in a parcel's room, each at whole 256 bytes.
    struct Layout {
        std::uint64_t pieces = 0, outcome = 0, ends = 0, from = 0, bytes = 0;
        std::uint64_t to = 0, to_bytes = 0, statuses = 0, slots = 0, scratch = 0;
        std::uint64_t end = 0;
        Batch batch;
    };
    NvcompCoder(cudaStream_t stream, cudaMemPool_t pool) : stream_(stream), pool_(pool) {}
    Status begin(const CudaOptions& options);
    Status plan_batches(std::uint64_t work_bytes);
    Layout lay_out(std::uint64_t pieces, std::uint64_t bytes, std::uint64_t chunks) const;
    Status fill_job(std::span<const std::span<const std::byte>> pieces, const Content& content,
                    std::span<std::byte> parcel, NvcompJob& job);
    Status give(const NvcompJob& job, NvcompOutcome* outcome);
    Status give_batches(NvcompJob job);
    Status unpack(std::span<const std::byte> begin, std::span<const std::byte> frame,
                  std::span<std::byte> piece);
    Status look_at(std::span<const nvcomp::Chunk> chunks, std::span<const std::byte> frame,
                   std::span<std::byte> piece);
    Status decompress_chunks(std::span<const nvcomp::Chunk> chunks,
                             std::span<const std::byte> frame, std::span<std::byte> piece,
                             std::uint64_t value_bytes);
    Status decompress_batch(NvcompBatch& batch);

    cudaStream_t stream_;
    cudaMemPool_t pool_;
    std::unique_ptr<Nvcomp> library_;
    std::unique_ptr<Packer> packer_;  ///< reads parcels' tables, and frames that are not nvCOMP's
    NvcompAlignment to_compress_, to_decompress_;
    std::uint64_t slot_bytes_ = 0;  ///< room for what a chunk can come to
    std::vector<Batch> batches_;    ///< of 1, 2, 4, ... chunks
    Pinned pinned_;
};

}  // namespace caesura::device::cuda
