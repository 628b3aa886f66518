#include "device/cuda/pointers.hpp"

#include <fmt/format.h>

#include <atomic>

#include "base/invalid.hpp"
#include "device/cuda/calls.hpp"

namespace caesura::device::cuda {
namespace {

/// Whose memory it is; cudaMemoryTypeUnregistered where there is no GPU.
cudaPointerAttributes attributes_of(const void* memory) {
    // A process without a driver or a GPU never gets one.
    static std::atomic<bool> no_device = false;
    cudaPointerAttributes attributes{};
    attributes.type = cudaMemoryTypeUnregistered;
    if (no_device) return attributes;
    const cudaError_t code = cudaPointerGetAttributes(&attributes, memory);
    if (code == cudaSuccess) return attributes;
    no_device = status_of(code, "a pointer").code() == StatusCode::unsupported;
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
