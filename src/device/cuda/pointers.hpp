// Pointers into CUDA's memory. A build without CUDA knows none.
#pragma once

#include "caesura/base.hpp"

namespace caesura::device::cuda {

bool is_here();
/// A device's, or managed.
bool owns_memory(const void* memory);
/// By CUDA's default stream; waits. Errors: io, invalid_argument (not such memory).
Status fetch(std::span<std::byte> host, const void* memory);

}  // namespace caesura::device::cuda
