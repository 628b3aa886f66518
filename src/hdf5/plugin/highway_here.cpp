// The functions of Highway that are not in its headers, compiled into the plugin and a wheel's
// module, so that they need no libhwy (Debian has no static one). As in Highway 1.0, without its
// test mocks.
//
// Invariant: a target is named only if the processor and the operating system support all that
// Highway compiles it for.
#include <hwy/targets.h>

#include <atomic>
#include <cstdint>

namespace hwy {
namespace {

std::atomic<std::int64_t> allowed{-1};

std::int64_t detect() {
    std::int64_t targets = HWY_EMU128 | HWY_SCALAR;
#if HWY_ARCH_X86
    // These also ask the operating system whether it saves the registers. LZCNT and F16C come with
    // AVX2 and BMI2, VAES with VBMI2, on every processor there is.
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("ssse3")) return targets;
    targets |= HWY_SSSE3;
    const bool sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                      __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
    if (!sse4) return targets;
    targets |= HWY_SSE4;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (!avx2) return targets;
    targets |= HWY_AVX2;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
    if (!avx512) return targets;
    targets |= HWY_AVX3;
    const bool ice_lake =
        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq") &&
        __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni") &&
        __builtin_cpu_supports("vpclmulqdq");
    if (ice_lake) targets |= HWY_AVX3_DL;
#elif HWY_ARCH_ARM_A64
    targets |= HWY_NEON;  // part of the architecture; the codec has no SVE kernels
#endif
    return targets;
}

}  // namespace

HWY_DLLEXPORT std::int64_t SupportedTargets() {
    static const std::int64_t targets = detect();
    const std::int64_t left = targets & allowed.load();
    return left != 0 ? left : HWY_STATIC_TARGET;
}

HWY_DLLEXPORT ChosenTarget& GetChosenTarget() {
    static ChosenTarget chosen;
    return chosen;
}

/// Kernels choose anew at their next call.
HWY_DLLEXPORT void DisableTargets(std::int64_t disabled) {
    allowed.store(~disabled);
    GetChosenTarget().DeInit();
}

}  // namespace hwy
