// Random tilings of an array over ranks, and fields to fill them with.
#pragma once

#include <cmath>
#include <random>

#include "caesura/base.hpp"

namespace caesura::testing {

struct OwnedBox {
    int rank = 0;
    Box box;
};

/// Cut `box` `depth` times at random; each part goes to a random rank.
inline void cut(const Box& box, int n_ranks, int depth, std::mt19937& random,
                std::vector<OwnedBox>& boxes) {
    const auto axis = static_cast<int>(random() % static_cast<unsigned>(box.offset.rank()));
    if (depth == 0 || box.extent[axis] < 2) {
        boxes.push_back({static_cast<int>(random() % static_cast<unsigned>(n_ranks)), box});
        return;
    }
    const std::uint64_t at = 1 + random() % (box.extent[axis] - 1);
    Box low = box, high = box;
    low.extent[axis] = at;
    high.offset[axis] += at;
    high.extent[axis] -= at;
    cut(low, n_ranks, depth - 1, random, boxes);
    cut(high, n_ranks, depth - 1, random, boxes);
}

/// A smooth field with a little noise; `kind` 1 adds NaN and Inf, 2 is pure noise, 3 constant.
template <class T>
std::vector<T> make_field(const Shape& shape, unsigned seed, int kind) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(-1.0, 1.0);
    std::vector<T> values(shape.count());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = static_cast<double>(i);
        double value = 100.0 * std::sin(x * 0.01) + 0.1 * noise(random);
        if (kind == 2) value = 1e3 * noise(random);
        if (kind == 3) value = 4.25;
        values[i] = static_cast<T>(value);
        if (kind == 1 && random() % 50 == 0)
            values[i] = random() % 2 ? std::numeric_limits<T>::quiet_NaN()
                                     : -std::numeric_limits<T>::infinity();
    }
    return values;
}

/// The values of `box` out of a whole array.
template <class T>
std::vector<T> take(const std::vector<T>& whole, const Shape& shape, const Box& box) {
    std::vector<T> part(box.extent.count());
    copy_box(box, {Shape::filled(shape.rank(), 0), shape},
             reinterpret_cast<const std::byte*>(whole.data()), box,
             reinterpret_cast<std::byte*>(part.data()), sizeof(T));
    return part;
}

/// The first value that breaks the bound, as text; empty if none does.
template <class T>
std::string broken(const std::vector<T>& original, const std::vector<double>& stored,
                   double bound) {
    if (original.size() != stored.size())
        return "sizes " + std::to_string(original.size()) + " and " + std::to_string(stored.size());
    for (std::size_t i = 0; i < original.size(); ++i) {
        const double x = static_cast<double>(original[i]);
        const bool same = std::isnan(x)   ? std::isnan(stored[i])
                          : std::isinf(x) ? stored[i] == x
                                          : std::abs(x - stored[i]) <= bound;
        if (!same)
            return "value " + std::to_string(i) + ": " + std::to_string(x) + " became " +
                   std::to_string(stored[i]);
    }
    return {};
}

}  // namespace caesura::testing
