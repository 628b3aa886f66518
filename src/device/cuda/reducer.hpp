// Sums, counts and marks by a GPU: what the host does around the kernels.
//
// Invariants: what the host reads or writes lies in pinned memory; nothing is in the stream when a
// call is over.
#pragma once

#include "caesura/device.hpp"
#include "device/cuda/calls.hpp"

namespace caesura::device::cuda {

class Reducer {
  public:
    explicit Reducer(cudaStream_t stream) : stream_(stream) {}
    /// As Device::sums(), Device::counts() and Device::marks().
    Result<std::vector<StretchSums>> sums(std::span<const std::byte> values, DType dtype,
                                          std::span<std::byte> room);
    Result<RangeCounts> counts(std::span<const std::byte> values, DType dtype,
                               std::span<const double> edges, std::span<std::byte> room);
    Result<std::vector<std::uint64_t>> marks(std::span<const std::byte> values, DType dtype,
                                             double threshold, std::span<std::byte> room);

  private:
    cudaError_t end_of(cudaError_t given);
    const cudaStream_t stream_;
    Pinned pinned_;
};

}  // namespace caesura::device::cuda
