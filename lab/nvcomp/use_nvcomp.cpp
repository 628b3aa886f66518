#include "nvcomp/use_nvcomp.hpp"

#include "nvcomp/nvcomp_coder.hpp"

namespace caesura::lab {
namespace {

using device::cuda::NvcompCoder, device::cuda::ParcelCoder;

Result<std::unique_ptr<ParcelCoder>> make(const device::CudaOptions& options, cudaStream_t stream,
                                          cudaMemPool_t pool) {
    auto coder = NvcompCoder::create(options, stream, pool);
    if (!coder.ok()) return coder.status();
    return std::unique_ptr<ParcelCoder>(*std::move(coder));
}

}  // namespace

void use_nvcomp() { device::cuda::register_nvcomp(make); }

}  // namespace caesura::lab
