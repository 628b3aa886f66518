// What a build without CUDA has to say about GPUs.
#include "caesura/device.hpp"
#include "device/cuda/pointers.hpp"

namespace caesura::device {
namespace {

Status none() {
    return {StatusCode::unsupported,
            "this build of Caesura has no CUDA: configure with -DCAESURA_CUDA=ON where nvcc is on "
            "the PATH"};
}

}  // namespace

Result<std::unique_ptr<Device>> create_cuda_device(const CudaOptions&) { return none(); }
Result<CudaInfo> cuda_info(int) { return none(); }
Status cuda_busy(double, void*) { return none(); }

namespace cuda {

bool is_here() { return false; }
bool owns_memory(const void*) { return false; }
Status fetch(std::span<std::byte>, const void*) { return none(); }

}  // namespace cuda

}  // namespace caesura::device
