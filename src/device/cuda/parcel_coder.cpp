#include "device/cuda/parcel_coder.hpp"

#include <fmt/format.h>

#include <atomic>

#include "device/cuda/packer.hpp"

namespace caesura::device::cuda {
namespace {

std::atomic<NvcompFactory> nvcomp_factory = nullptr;

}  // namespace

void register_nvcomp(NvcompFactory factory) { nvcomp_factory = factory; }

Result<std::unique_ptr<ParcelCoder>> ParcelCoder::create(const CudaOptions& options,
                                                         cudaStream_t stream, cudaMemPool_t pool) {
    if (is_nvcomp(options.coder)) {
        const NvcompFactory factory = nvcomp_factory;
        if (factory) return factory(options, stream, pool);
        return Status{StatusCode::unsupported,
                      fmt::format("coder {} is not in the library: link caesura_lab_nvcomp (see "
                                  "lab/README.md) and call caesura::lab::use_nvcomp(), or use "
                                  "packed",
                                  to_string(options.coder))};
    }
    auto packer = Packer::create(options.coder, stream);
    if (!packer.ok()) return packer.status();
    return std::unique_ptr<ParcelCoder>(*std::move(packer));
}

}  // namespace caesura::device::cuda
