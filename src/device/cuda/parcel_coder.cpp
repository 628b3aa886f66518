#include "device/cuda/parcel_coder.hpp"

#include "device/cuda/nvcomp_coder.hpp"
#include "device/cuda/packer.hpp"

namespace caesura::device::cuda {

Result<std::unique_ptr<ParcelCoder>> ParcelCoder::create(const CudaOptions& options,
                                                         cudaStream_t stream, cudaMemPool_t pool) {
    if (is_nvcomp(options.coder)) {
        auto coder = NvcompCoder::create(options, stream, pool);
        if (!coder.ok()) return coder.status();
        return std::unique_ptr<ParcelCoder>(*std::move(coder));
    }
    auto packer = Packer::create(options.coder, stream);
    if (!packer.ok()) return packer.status();
    return std::unique_ptr<ParcelCoder>(*std::move(packer));
}

}  // namespace caesura::device::cuda
