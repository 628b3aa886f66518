// What sampled codes would cost, coded adaptively.
//
// Invariants:
//  - The coder's own model (adaptive_model.hpp) tells every bit's cost. It sees the sample
//    twice. By the second time it knows most of what it will know of the block, of which the sample
//    is a small part. What it did not know the first time a block pays once.
//  - Integer arithmetic: the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/entropy/adaptive_model.hpp"

namespace caesura::codec {

class AdaptiveCost {
  public:
    /// @param codes   n neighbours, as a block would hold them.
    /// @param weight  how many codes of the block each of these stands for.
    void add(const std::uint32_t* codes, std::size_t n, std::uint64_t weight);
    /// The section's bytes. @param scale  the weights' unit. @param complete  are these all codes
    /// of the block?
    double bytes(double scale, bool complete) const;

  private:
    struct Run {
        std::size_t n;
        std::uint64_t weight;
    };
    std::vector<std::uint32_t> codes_;
    std::vector<Run> runs_;
};

}  // namespace caesura::codec
