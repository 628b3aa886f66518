#include "codec/bound/round_to_grid.hpp"

#include <cmath>
#include <limits>

namespace caesura::codec {
namespace {

template <class T>
double grid_step_typed(double bound) {
    // floor(log2(2 * bound)), without the overflow of 2 * bound.
    const int exponent = std::ilogb(bound) + 1;
    constexpr int k_lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
    // 1.5 * 2^(digits - 1) * step has to be finite.
    constexpr int k_highest =
        std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::digits - 1;
    if (exponent < k_lowest || exponent > k_highest) return 0.0;
    return std::ldexp(1.0, exponent);
}

/// Adding this lifts a value into the binade where neighbouring floats are one step apart, so the
/// addition itself rounds; taking it away again is exact. Two adds and a select per value, which
/// vectorise on every machine, unlike calls of rint.
template <class T>
T lifting_constant(double step) {
    return static_cast<T>(1.5 * std::ldexp(step, std::numeric_limits<T>::digits - 1));
}

template <class T>
void round_typed(std::byte* block, std::size_t count, double step) {
    T* x = reinterpret_cast<T*>(block);
    const T lift = lifting_constant<T>(step);
    // Beyond this the sum would leave the binade; such values have at most one bit below the step.
    const T limit = static_cast<T>(std::ldexp(step, std::numeric_limits<T>::digits - 2));
    for (std::size_t i = 0; i < count; ++i) {
        const T rounded = (x[i] + lift) - lift;
        x[i] = std::abs(x[i]) < limit ? rounded : x[i];  // false for NaN
    }
}

}  // namespace

double grid_step(double bound, DType dtype) {
    return dtype == DType::float32 ? grid_step_typed<float>(bound) : grid_step_typed<double>(bound);
}

void round_to_grid(std::span<std::byte> block, DType dtype, double step) {
    if (dtype == DType::float32) {
        round_typed<float>(block.data(), block.size() / sizeof(float), step);
    } else {
        round_typed<double>(block.data(), block.size() / sizeof(double), step);
    }
}

}  // namespace caesura::codec
