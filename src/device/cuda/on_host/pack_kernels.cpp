// The kernels of packed frames, the same source, for the stand-in (kernels.hpp).
// clang-format off: the first must come first
#include "device/cuda/on_host/kernels.hpp"
#include "device/cuda/pack_kernels.cu"
