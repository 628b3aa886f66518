// Without CUDA there is no device to use it.
#include "nvcomp/use_nvcomp.hpp"

namespace caesura::lab {

void use_nvcomp() {}

}  // namespace caesura::lab
