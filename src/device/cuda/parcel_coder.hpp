// Who makes and reads parcels on a GPU: our packed frames, or another coder that was registered.
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
    /// Errors: unsupported (a coder that a GPU does not have, or that was not registered),
    /// no_space, io; those of a registered one.
    static Result<std::unique_ptr<ParcelCoder>> create(const CudaOptions& options,
                                                       cudaStream_t stream, cudaMemPool_t pool);
    virtual ~ParcelCoder() = default;
    virtual std::uint64_t parcel_bytes(std::uint64_t pieces, std::uint64_t bytes) const = 0;
    virtual Result<std::uint64_t> compress(std::span<const std::span<const std::byte>> pieces,
                                           const Content& content, std::span<std::byte> parcel) = 0;
    virtual Status decompress(std::span<const std::byte> parcel, std::uint64_t index,
                              std::span<std::byte> piece) = 0;
};

/// Makes a coder of nvCOMP's, for which is_nvcomp() holds; arguments as of ParcelCoder::create().
using NvcompFactory = Result<std::unique_ptr<ParcelCoder>> (*)(const CudaOptions& options,
                                                               cudaStream_t stream,
                                                               cudaMemPool_t pool);
/// From now on it makes them; null: nobody, as at first. Of the whole process. Calls: thread-safe.
void register_nvcomp(NvcompFactory factory);

}  // namespace caesura::device::cuda
