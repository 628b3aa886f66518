// Synthetic fields for tests and benchmarks, from a seed.
#pragma once

#include <cmath>
#include <random>

#include "predict/predict.hpp"

namespace caesura::predict {

/// White Gaussian noise, mean 0, standard deviation 1.
template <class T>
std::vector<T> noise_field(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<T> field(shape.count());
    for (T& value : field) value = static_cast<T>(normal(random));
    return field;
}

/// A Gaussian random field: noise smoothed three times on each axis over 2 * radius + 1 values
/// (periodic), scaled to standard deviation 1.
template <class T>
std::vector<T> smooth_field(const Shape& shape, int radius, unsigned seed) {
    std::vector<T> field = noise_field<T>(shape, seed);
    std::uint64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const auto n = static_cast<std::ptrdiff_t>(shape[axis]);
        std::vector<double> line(static_cast<std::size_t>(n));
        for (std::uint64_t at = 0; at < field.size(); ++at) {
            if (at / stride % shape[axis] != 0) continue;  // `at` begins a line along this axis
            for (int pass = 0; pass < 3; ++pass) {
                for (std::ptrdiff_t i = 0; i < n; ++i)
                    line[static_cast<std::size_t>(i)] =
                        static_cast<double>(field[at + static_cast<std::uint64_t>(i) * stride]);
                double sum = 0.0;
                const auto wrapped = [&](std::ptrdiff_t i) {
                    return line[static_cast<std::size_t>(((i % n) + n) % n)];
                };
                for (std::ptrdiff_t i = -radius; i <= radius; ++i) sum += wrapped(i);
                for (std::ptrdiff_t i = 0; i < n; ++i) {
                    field[at + static_cast<std::uint64_t>(i) * stride] = static_cast<T>(sum);
                    sum += wrapped(i + radius + 1) - wrapped(i - radius);
                }
            }
        }
        stride *= shape[axis];
    }
    double square = 0.0;
    for (const T value : field) square += static_cast<double>(value) * static_cast<double>(value);
    const double scale = std::sqrt(static_cast<double>(field.size()) / square);
    for (T& value : field) value = static_cast<T>(static_cast<double>(value) * scale);
    return field;
}

}  // namespace caesura::predict
