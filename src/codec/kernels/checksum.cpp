#include "codec/kernels/checksum.hpp"

#include "codec/kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/kernels/checksum.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

HWY_BEFORE_NAMESPACE();
namespace caesura::codec::HWY_NAMESPACE {

std::uint64_t Checksum(const std::byte* bytes, std::size_t n, std::uint64_t seed) {
#if HWY_TARGET <= HWY_AVX3
    return checksum_avx512(bytes, n, seed);
#elif HWY_TARGET <= HWY_AVX2
    return checksum_avx2(bytes, n, seed);
#else
    return XXH3_64bits_withSeed(bytes, n, seed);
#endif
}

}  // namespace caesura::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caesura::codec {
HWY_EXPORT(Checksum);

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
    return HWY_DYNAMIC_DISPATCH(Checksum)(bytes.data(), bytes.size(), seed);
}
}  // namespace caesura::codec
#endif
