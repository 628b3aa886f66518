#include "codec/frame/byte_shuffle.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace caesura::codec {
namespace {

// Known widths unroll, and compilers turn the inner loop into packs and unpacks of whole vectors.
template <std::size_t k_bytes>
void shuffle_fixed(const std::byte* values, std::size_t n, std::byte* shuffled) {
    for (std::size_t b = 0; b < k_bytes; ++b) {
        std::byte* plane = shuffled + b * n;
        for (std::size_t i = 0; i < n; ++i) plane[i] = values[i * k_bytes + b];
    }
}

template <std::size_t k_bytes>
void unshuffle_fixed(const std::byte* shuffled, std::size_t n, std::byte* values) {
    // In stretches that stay in the first-level cache: each is written once per plane.
    constexpr std::size_t k_shuffle_stretch = 1024;
    for (std::size_t begin = 0; begin < n; begin += k_shuffle_stretch) {
        const std::size_t length = std::min(k_shuffle_stretch, n - begin);
        for (std::size_t i = begin; i < begin + length; ++i)
            for (std::size_t b = 0; b < k_bytes; ++b) values[i * k_bytes + b] = shuffled[b * n + i];
    }
}

}  // namespace

void shuffle(const std::byte* values, std::size_t n, std::size_t value_bytes, std::byte* shuffled) {
    switch (value_bytes) {
        case 1:
            if (n > 0) std::memcpy(shuffled, values, n);
            return;
        case 2:
            return shuffle_fixed<2>(values, n, shuffled);
        case 4:
            return shuffle_fixed<4>(values, n, shuffled);
        case 8:
            return shuffle_fixed<8>(values, n, shuffled);
        default:
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t b = 0; b < value_bytes; ++b)
                    shuffled[b * n + i] = values[i * value_bytes + b];
    }
}

void unshuffle(const std::byte* shuffled, std::size_t n, std::size_t value_bytes,
               std::byte* values) {
    switch (value_bytes) {
        case 1:
            if (n > 0) std::memcpy(values, shuffled, n);
            return;
        case 2:
            return unshuffle_fixed<2>(shuffled, n, values);
        case 4:
            return unshuffle_fixed<4>(shuffled, n, values);
        case 8:
            return unshuffle_fixed<8>(shuffled, n, values);
        default:
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t b = 0; b < value_bytes; ++b)
                    values[i * value_bytes + b] = shuffled[b * n + i];
    }
}

}  // namespace caesura::codec
