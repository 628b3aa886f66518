#include "codec/bound/float_environment.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace caesura::codec {

#if defined(__x86_64__) || defined(_M_X64)

// MXCSR after reset: every exception masked, no flag set, round to nearest, FTZ and DAZ clear.
constexpr unsigned k_default_mode = 0x1f80;

FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(k_default_mode); }
FloatEnvironment::~FloatEnvironment() { _mm_setcsr(static_cast<unsigned>(saved_)); }

#elif defined(__aarch64__)

// FPCR 0: round to nearest, FZ, FZ16 and AH clear, default-NaN off, nothing traps. The exception
// flags live in FPSR, which no mode of ours touches but by setting flags, as any arithmetic does.
FloatEnvironment::FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}));
}
FloatEnvironment::~FloatEnvironment() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }

#else

FloatEnvironment::FloatEnvironment() : saved_(static_cast<std::uint64_t>(std::fegetround())) {
    std::fesetround(FE_TONEAREST);
}
FloatEnvironment::~FloatEnvironment() { std::fesetround(static_cast<int>(saved_)); }

#endif

}  // namespace caesura::codec
