// What a build without CUDA has to say about GPUs.
#include "caesura/device.hpp"

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

}  // namespace caesura::device
