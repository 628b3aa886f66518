#include "device/cuda/pointers.hpp"

#include <fmt/format.h>

#include "base/invalid.hpp"
#include "device/cuda/calls.hpp"

namespace caesura::device::cuda {
namespace {

/// Whose memory it is; cudaMemoryTypeUnregistered where there is no GPU, which CUDA finds out once.
cudaPointerAttributes attributes_of(const void* memory) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess) return attributes;
    (void)cudaGetLastError();  // or the next launch of a kernel is taken to have failed
    attributes = {};
    attributes.type = cudaMemoryTypeUnregistered;
    return attributes;
}

bool is_of_device(const cudaPointerAttributes& attributes) {
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace

bool is_here() { return true; }

bool owns_memory(const void* memory) { return is_of_device(attributes_of(memory)); }

Status fetch(std::span<std::byte> host, const void* memory) {
    const cudaPointerAttributes attributes = attributes_of(memory);
    if (!is_of_device(attributes)) return base::invalid("a pointer into no memory of a device");
    const OnDevice on_device(attributes.device);
    if (!on_device.status().ok()) return on_device.status();
    return status_of(cudaMemcpy(host.data(), memory, host.size(), cudaMemcpyDeviceToHost),
                     fmt::format("copying {} bytes from a device", host.size()));
}

}  // namespace caesura::device::cuda
