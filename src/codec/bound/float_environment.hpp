// The floating-point mode in which the codec's arithmetic is defined.
//
// Invariants:
//  - While a FloatEnvironment lives, its thread rounds to nearest even, keeps denormals and traps
//    nothing, whatever mode the caller (or a library built with -ffast-math) had set.
//  - The caller's mode and exception flags come back when it ends.
#pragma once

#include <cstdint>

namespace caesura::codec {

class FloatEnvironment {
  public:
    FloatEnvironment();
    ~FloatEnvironment();
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
    std::uint64_t saved_ = 0;
};

}  // namespace caesura::codec
