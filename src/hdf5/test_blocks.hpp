// Random blocks for the codec tests: every kind of data a simulation or a bug may hand in.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

struct TestBlock {
    DType dtype = float32;
    Shape chunk;
    Shape valid;
    std::vector<std::byte> bytes;
    std::string what;  ///< for messages

    double value(std::size_t i) const {
        if (dtype == DType::float64) {
            double x = 0;
            std::memcpy(&x, bytes.data() + 8 * i, 8);
            return x;
        }
        float x = 0;
        std::memcpy(&x, bytes.data() + 4 * i, 4);
        return static_cast<double>(x);
    }
    void set(std::size_t i, double value) {
        if (dtype == DType::float64) {
            std::memcpy(bytes.data() + 8 * i, &value, 8);
        } else {
            const float x = static_cast<float>(value);
            std::memcpy(bytes.data() + 4 * i, &x, 4);
        }
    }
};

inline Shape random_shape(std::mt19937_64& random, std::uint64_t most_values) {
    Shape shape = Shape::filled(1 + static_cast<int>(random() % k_max_rank), 1);
    std::uint64_t left = most_values;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::uint64_t longest =
            axis + 1 == shape.rank() ? left : std::min<std::uint64_t>(left, 40);
        shape[axis] = random() % 5 == 0 ? 1 : 1 + random() % longest;
        left = std::max<std::uint64_t>(left / shape[axis], 1);
    }
    return shape;
}

inline void fill_block(std::mt19937_64& random, TestBlock& block) {
    const std::size_t count = block.chunk.count();
    block.bytes.resize(count * size_of(block.dtype));
    constexpr const char* k_kinds[] = {"smooth", "noise",        "constant", "any bits",
                                       "huge",   "with special", "denormal"};
    const std::size_t kind = random() % std::size(k_kinds);
    block.what = k_kinds[kind];
    std::normal_distribution<double> noise;
    const double phase = noise(random);
    const double denormal = block.dtype == DType::float32 ? 1e-41 : 1e-311;
    for (std::size_t i = 0; i < count; ++i) {
        const double smooth =
            std::sin(phase + 0.01 * static_cast<double>(i)) + 0.01 * noise(random);
        switch (kind) {
            case 1:
                block.set(i, noise(random));
                break;
            case 2:
                block.set(i, phase);
                break;
            case 4:
                block.set(i, 1e37 * smooth);
                break;
            case 6:
                block.set(i, denormal * noise(random));
                break;
            default:
                block.set(i, smooth);
        }
    }
    if (kind == 3) {
        for (std::byte& byte : block.bytes) byte = static_cast<std::byte>(random() & 255);
    }
    if (kind == 5) {
        const double specials[] = {std::nan(""), INFINITY, -INFINITY, -0.0};
        for (std::size_t n = 1 + random() % 9; n > 0; --n) {
            block.set(random() % count, specials[random() % 4]);
        }
    }
}

inline TestBlock random_block(std::mt19937_64& random, std::uint64_t most_values) {
    TestBlock block;
    block.dtype = random() % 2 ? float32 : float64;
    block.chunk = random_shape(random, most_values);
    block.valid = block.chunk;
    for (int axis = 0; axis < block.chunk.rank(); ++axis) {
        if (random() % 4 == 0) block.valid[axis] = 1 + random() % block.chunk[axis];
    }
    fill_block(random, block);
    return block;
}

/// A smooth 3-D block, the ordinary case.
inline TestBlock smooth_block(DType dtype, const Shape& chunk) {
    TestBlock block{dtype, chunk, chunk, {}, "smooth"};
    block.bytes.resize(chunk.count() * size_of(dtype));
    for (std::size_t i = 0; i < chunk.count(); ++i) {
        const double t = static_cast<double>(i);
        block.set(i, 100 * std::sin(0.001 * t) + std::cos(0.37 * t));
    }
    return block;
}

}  // namespace caesura::hdf5
