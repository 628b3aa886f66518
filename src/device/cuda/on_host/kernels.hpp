// Kernels of CUDA compiled as C++ (on_host.hpp): what a .cu may use of the language, for the host.
// To be included before the .cu; launches go through cudaLaunchKernel(kernel, ...).
//
// Blocks run one after the other. The threads of a block run in turn, each until it comes to a
// barrier or a shuffle, in an order that changes; a barrier that not all threads reach is a fault.
#pragma once

#include <cuda_runtime_api.h>

#include <tuple>
#include <utility>

#include "device/cuda/on_host/on_host.hpp"

#undef __shared__
#define __shared__ static thread_local  // all threads of a block run on one thread of the host
#undef __forceinline__
#define __forceinline__ inline
#undef __launch_bounds__
#define __launch_bounds__(...)

// Of the thread that runs.
extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace caesura::device::on_host {

/// One dimension each. Every thread of the grid runs `thread`.
cudaError_t launch(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread);

/// Until all threads of the block are here. @return whether all of them brought true.
bool block_barrier(bool value);
/// Until all lanes of the warp are here. @return what lane + down brought, or mine beyond the last.
std::uint64_t warp_shuffle_down(std::uint64_t mine, unsigned down);

}  // namespace caesura::device::on_host

inline void __syncthreads() { (void)caesura::device::on_host::block_barrier(true); }
inline int __syncthreads_and(int value) {
    return caesura::device::on_host::block_barrier(value != 0) ? 1 : 0;
}
template <class T>
T __shfl_down_sync(unsigned mask, T mine, unsigned down) {
    static_assert(std::is_unsigned_v<T> && sizeof(T) <= 8);
    if (mask != ~0u) __builtin_trap();  // of a part of a warp: not known here
    return static_cast<T>(caesura::device::on_host::warp_shuffle_down(mine, down));
}

/// Blocks run one after the other and threads in turn, so nobody adds in between.
template <class T>
T atomicAdd(T* to, T more) {
    return std::exchange(*to, *to + more);
}

/// Instead of CUDA's template of this name, which knows as little of arguments as the library.
template <class... Arguments>
cudaError_t cudaLaunchKernel(void (*kernel)(Arguments...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
    if (shared_bytes != 0) return cudaErrorInvalidValue;
    // The arguments are copied when it is launched.
    const auto copies = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<Arguments...>(*static_cast<Arguments*>(arguments[I])...);
    }
    (std::index_sequence_for<Arguments...>{});
    return caesura::device::on_host::launch(grid, block, stream,
                                            [kernel, copies] { std::apply(kernel, copies); });
}
