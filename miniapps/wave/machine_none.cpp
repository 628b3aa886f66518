// What a build without CUDA has to say about GPUs.

#include <stdexcept>

#include "machine.hpp"

namespace wave {

std::unique_ptr<Machine> make_gpu_machine() {
    throw std::runtime_error(
        "this build has no CUDA: configure with -DCAESURA_CUDA=ON where nvcc is on the PATH");
}

}  // namespace wave
