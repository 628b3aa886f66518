// Compiled with avx512 instructions: nothing that other files share may be defined in here, so no
// headers of C++ but those of the declaration.
#if defined(__x86_64__)
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec/kernels/checksum.hpp"

namespace caesura::codec {

std::uint64_t checksum_avx512(const void* bytes, std::size_t n, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, n, seed);
}

}  // namespace caesura::codec
#endif
