// nvCOMP's coders for devices of CUDA. Compiled and linked, run on the host's stand-ins; never yet
// on a GPU.
#pragma once

namespace caesura::lab {

/// From now on create_cuda_device() of this process makes devices with nvCOMP's coders too
/// (CudaOptions::coder). Without CUDA in this build it does nothing. Calls: thread-safe.
void use_nvcomp();

}  // namespace caesura::lab
