// The kernels around nvCOMP, the same source, for the stand-in (kernels.hpp).
// clang-format off: the first must come first
#include "device/cuda/on_host/kernels.hpp"
#include "device/cuda/nvcomp_kernels.cu"
