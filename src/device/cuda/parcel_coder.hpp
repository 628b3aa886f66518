// Who makes and reads parcels on a GPU: our packed frames, or nvCOMP's coders.
//
// Invariants: everything compressing needs beside the pieces lies in the parcel's room.
#pragma once

#include "caesura/device.hpp"
#include "device/cuda/calls.hpp"

namespace caesura::device::cuda {

/// Calls: with the stream's device current; what they mean is what Device says.
class ParcelCoder {
  public:
    /// @param pool  for the little that decompressing may need.
    /// Errors: unsupported (a coder that a GPU does not have, or nvCOMP is missing), no_space, io.
    static Result<std::unique_ptr<ParcelCoder>> create(const CudaOptions& options,
                                                       cudaStream_t stream, cudaMemPool_t pool);
    virtual ~ParcelCoder() = default;
    virtual std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const = 0;
    virtual Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                           const Content& content, std::span<std::byte> parcel) = 0;
    virtual Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                              std::span<std::byte> piece) = 0;
};

}  // namespace caesura::device::cuda
