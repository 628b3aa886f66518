// Parcels made and read by a GPU: tables, sizes and checks of the host around the kernels.
//
// Invariants: everything the GPU needs beside the pieces lies in the parcel's room; what the host
// reads or writes lies in pinned memory.
#pragma once

#include "device/cuda/pack_kernels.hpp"
#include "device/cuda/parcel_coder.hpp"

namespace caesura::device::cuda {

class Packer final : public ParcelCoder {
  public:
    /// Errors: unsupported (a coder that a GPU does not have), no_space.
    static Result<std::unique_ptr<Packer>> create(Coder coder, cudaStream_t stream);
    std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const override;
    Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                   const Content& content, std::span<std::byte> parcel) override;
    Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                      std::span<std::byte> piece) override;

    /// The frame of a piece, in the device. Errors: those of find_frame().
    Result<std::span<const std::byte>> frame_of(std::span<const std::byte> parcel,
                                                std::uint64_t index);
    /// The first bytes of memory of the GPU, at the host, until the next call.
    Result<std::span<const std::byte>> look(const std::byte* memory, std::uint64_t bytes);

  private:
    Packer(Coder coder, cudaStream_t stream) : coder_(coder), stream_(stream) {}
    Status fill_job(std::span<const std::span<const std::byte>> pieces, const Content& content,
                    std::span<std::byte> parcel, PackJob& job);
    cudaError_t end_of(cudaError_t given);
    Status unpack_packed(std::span<const std::byte> head, std::span<const std::byte> frame,
                         std::span<std::byte> piece);
    Status unpack_at_host(std::span<const std::byte> frame, std::span<std::byte> piece);

    Coder coder_;
    cudaStream_t stream_;
    Pinned pinned_;
};

}  // namespace caesura::device::cuda
