// A page of memory, which is also what Linux caches of a file.
#pragma once

#include <cstdint>

namespace caesura::base {

inline constexpr std::uint64_t k_page_bytes = 4096;

}  // namespace caesura::base
