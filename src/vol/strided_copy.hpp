// Copies between arrays whose values do not lie one after the other, at the speed of a plain copy
// wherever they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caesura::vol {

/// One of several loops, the outermost first: how often, and how many bytes a step is on each side.
struct Loop {
    std::uint64_t count = 1;
    std::size_t from = 0, to = 0;
};

/// `loops` around a copy of `bytes`. Steps are multiples of `bytes`, or 0 to take the same again.
void copy_strided(std::vector<Loop> loops, const std::byte* from, std::byte* to, std::size_t bytes);

}  // namespace caesura::vol
