// Waiting for a CUDA stream, asleep: the pause in which blocks are compressed and written.
//
//     kernel<<<grid, block, 0, stream>>>(...);
//     if (cudaError_t error = caesura::wait(stream); error != cudaSuccess) ...
//
// Header-only, C++17: the library itself needs no CUDA. Link the CUDA runtime and Caesura.
// cudaStreamSynchronize() may spin (it does by default where the machine has more cores than
// contexts), and a core that spins is not free. An event made for blocking waits sleeps.
#pragma once

#include <cuda_runtime_api.h>

#include "caesura/wait.hpp"

namespace caesura {

/// Sleep until everything given to `stream` so far is done; the core is known to be free meanwhile.
/// @return  CUDA's code: of the stream's work, or cudaErrorMemoryAllocation and the like if no
///          event can be made.
inline cudaError_t wait(cudaStream_t stream) {
    cudaEvent_t done = nullptr;
    // Made each time (about a microsecond): an event belongs to one device, a thread to none.
    cudaError_t code =
        cudaEventCreateWithFlags(&done, cudaEventBlockingSync | cudaEventDisableTiming);
    if (code != cudaSuccess) return code;
    code = cudaEventRecord(done, stream);
    if (code == cudaSuccess) code = wait([&] { return cudaEventSynchronize(done); });
    const cudaError_t destroyed = cudaEventDestroy(done);
    return code != cudaSuccess ? code : destroyed;
}

}  // namespace caesura
