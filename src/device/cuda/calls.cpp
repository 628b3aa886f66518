#include "device/cuda/calls.hpp"

#include <fmt/format.h>

namespace caesura::device::cuda {

Status status_of(cudaError_t code, std::string_view what) {
    if (code == cudaSuccess) return {};
    // It is told here. CUDA would keep it, and the next launch of a kernel be taken to have failed.
    (void)cudaGetLastError();
    StatusCode kind = StatusCode::io;
    if (code == cudaErrorMemoryAllocation) kind = StatusCode::no_space;
    if (code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice ||
        code == cudaErrorInvalidDevice || code == cudaErrorNotSupported ||
        code == cudaErrorStubLibrary)
        kind = StatusCode::unsupported;
    return {kind,
            fmt::format("{}: {} ({})", what, cudaGetErrorString(code), cudaGetErrorName(code))};
}

Result<Pinned> Pinned::allocate(std::uint64_t bytes) {
    Pinned pinned;
    const cudaError_t code = cudaHostAlloc(&pinned.memory_, bytes, cudaHostAllocDefault);
    if (code != cudaSuccess)
        return status_of(code, fmt::format("{} bytes of pinned memory", bytes));
    pinned.bytes_ = bytes;
    return pinned;
}

Status Pinned::grow(std::uint64_t bytes) {
    if (bytes <= bytes_) return {};
    Result<Pinned> more = allocate(2 * bytes);
    if (more.ok()) *this = *std::move(more);
    return more.status();
}

}  // namespace caesura::device::cuda
