// What a build without CUDA has to say about devices; see device_kernels.hpp.

#include "device_kernels.hpp"

namespace cosmology {

OpenedDevice open_device(int) {
    return {nullptr,
            "this build has no CUDA: configure with -DCAESURA_CUDA=ON where nvcc is on the PATH"};
}

}  // namespace cosmology
