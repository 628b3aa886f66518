// What our kernels share: what the threads of a block do together, where a chunk is, the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace caesura::device::cuda {

/// The sum over all of a block's `threads`, for each of them. Every thread of the block calls it.
template <unsigned threads>
__device__ std::uint64_t sum_of_all(std::uint64_t mine) {
    constexpr unsigned k_warp = 32;
    static_assert(threads % k_warp == 0);
    __shared__ std::uint64_t sums[threads / k_warp];
    for (unsigned step = k_warp / 2; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
    __syncthreads();  // who came before has read the sums
    if (threadIdx.x % k_warp == 0) sums[threadIdx.x / k_warp] = mine;
    __syncthreads();
    std::uint64_t all = 0;
    for (unsigned warp = 0; warp < threads / k_warp; ++warp) all += sums[warp];
    return all;
}

/// The sum over the threads up to this one. shared: as many as there are threads.
__device__ inline std::uint64_t sum_up_to_mine(std::uint64_t mine, std::uint64_t* shared) {
    __syncthreads();
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        const std::uint64_t before = threadIdx.x >= step ? shared[threadIdx.x - step] : 0;
        __syncthreads();
        shared[threadIdx.x] += before;
        __syncthreads();
    }
    return shared[threadIdx.x];
}

/// Which piece a chunk is of: the last that begins at it or before. Pieces without a chunk of their
/// own begin where the next one does.
template <class Job>
__device__ std::uint64_t piece_of(const Job& job, std::uint64_t chunk) {
    std::uint64_t low = 0, high = job.piece_count - 1;
    while (low < high) {
        const std::uint64_t middle = (low + high + 1) / 2;
        if (job.pieces[middle].first_chunk <= chunk)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/// Says what became of this launch. cudaGetLastError() would say what the application has not asked
/// for yet, and take it from it.
template <class Argument>
cudaError_t launch(void (*kernel)(Argument), unsigned blocks, unsigned threads, Argument argument,
                   cudaStream_t stream) {
    void* arguments[] = {&argument};
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream);
}

}  // namespace caesura::device::cuda
