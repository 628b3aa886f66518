// For tests: arrays that look like fields, arrays that look like nothing, and values to fear.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "caesura/base.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace caesura::codec {

/// A few waves and a little noise, of magnitude 1.
template <class T>
std::vector<T> smooth_array(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(0, 1);
    double phase[3][k_max_rank];
    for (auto& wave : phase)
        for (double& p : wave) p = 0.2 * number(random);
    std::vector<T> values(shape.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::size_t rest = i;
        double angle[3] = {0.3, 1.1, 2.0};
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            const auto at = static_cast<double>(rest % shape[axis]);
            rest /= shape[axis];
            for (int wave = 0; wave < 3; ++wave) angle[wave] += at * phase[wave][axis] * (1 + wave);
        }
        values[i] =
            static_cast<T>(std::sin(angle[0]) + 0.5 * std::sin(angle[1]) * std::cos(angle[2]) +
                           1e-4 * number(random));
    }
    return values;
}

/// Every bit random: NaN, infinities, denormals and huge values among them.
template <class T>
std::vector<T> random_bits_array(const Shape& shape, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(shape.count());
    for (T& value : values) {
        const std::uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof(T));
    }
    return values;
}

/// NaN with payloads, infinities, denormals, both zeros and huge values, here and there and in
/// runs.
template <class T>
void sprinkle_specials(std::vector<T>& values, unsigned seed) {
    using Limits = std::numeric_limits<T>;
    std::mt19937 random(seed);
    T payload = Limits::quiet_NaN();
    std::memset(&payload, 0x5a, 2);  // the lowest bytes
    const T specials[] = {payload,
                          -payload,
                          Limits::signaling_NaN(),
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::denorm_min(),
                          -Limits::denorm_min(),
                          T(0),
                          -T(0),
                          Limits::max(),
                          Limits::lowest(),
                          Limits::min()};
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (random() % 50 != 0) continue;
        const std::size_t length = 1 + (random() % 8 == 0 ? random() % 40 : 0);
        const T* special = &specials[random() % std::size(specials)];
        for (std::size_t j = i; j < std::min(values.size(), i + length); ++j)
            std::memcpy(&values[j], special, sizeof(T));  // a signalling NaN stays one
    }
}

/// Call with denormals flushed to zero and rounding upwards, as some applications set it.
template <class Call>
void with_flush_to_zero(Call call) {
#if defined(__x86_64__)
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040 | 0x4000);
    call();
    _mm_setcsr(saved);
#else
    call();
#endif
}

}  // namespace caesura::codec
