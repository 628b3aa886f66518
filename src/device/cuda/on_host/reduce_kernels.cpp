// The kernels of sums, counts and marks, the same source, for the stand-in (kernels.hpp).
// The first must come first.
// clang-format off
#include "device/cuda/on_host/kernels.hpp"
#include "device/cuda/reduce_kernels.cu"
