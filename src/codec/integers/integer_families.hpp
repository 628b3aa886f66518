// For tests and benchmarks: arrays of integers like those that simulations write.
//
// Invariants:
//  - A family, a width, a shape and a seed give the same values on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "caesura/codec.hpp"

namespace caesura::codec {

/// Numbers below n, alike everywhere, which std's distributions are not.
class FamilyRandom {
  public:
    explicit FamilyRandom(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t bits() { return engine_(); }
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    /// 0 with probability 1 - 1/mean, and so on: gaps between events.
    std::uint64_t geometric(std::uint64_t mean) {
        std::uint64_t n = 0;
        while (below(mean) != 0) ++n;
        return n;
    }

  private:
    std::mt19937_64 engine_;
};

using FamilyValues = std::vector<std::uint64_t>;

inline FamilyValues shuffled(std::size_t n, std::size_t block, FamilyRandom& random) {
    FamilyValues values(n);
    std::iota(values.begin(), values.end(), std::uint64_t{0});
    for (std::size_t begin = 0; begin < n; begin += block) {
        const std::size_t length = std::min(block, n - begin);
        for (std::size_t i = length; i > 1; --i)
            std::swap(values[begin + i - 1],
                      values[begin + static_cast<std::size_t>(random.below(i))]);
    }
    return values;
}

/// Ids of a grid's cells along the Morton curve: every third bit of the place belongs to one axis.
inline FamilyValues morton_ids(std::size_t n) {
    unsigned bits = 1;
    while ((std::size_t{1} << (3 * bits)) < n) ++bits;
    FamilyValues values;
    for (std::uint64_t place = 0; values.size() < n; ++place) {
        std::uint64_t axes[3] = {};
        for (unsigned b = 0; b < 3 * bits; ++b) axes[b % 3] |= (place >> b & 1U) << (b / 3);
        values.push_back((axes[2] << (2 * bits)) | (axes[1] << bits) | axes[0]);
    }
    return values;
}

/// Particles drawn from the whole grid, in Morton order: no step is like another.
inline FamilyValues sparse_morton_ids(std::size_t n, FamilyRandom& random) {
    FamilyValues all = morton_ids(4 * n);
    FamilyValues values;
    for (const std::uint64_t id : all)
        if (values.size() < n && random.below(4) == 0) values.push_back(id);
    while (values.size() < n) values.push_back(all[values.size()]);
    return values;
}

/// Balls of ones in a cube-like grid.
inline FamilyValues blobs(std::size_t n, FamilyRandom& random) {
    std::size_t side = 1;
    while ((side + 1) * (side + 1) * (side + 1) <= n) ++side;
    FamilyValues values(n);
    for (int ball = 0; ball < 40; ++ball) {
        std::array<std::int64_t, 3> centre{};
        for (std::int64_t& c : centre) c = static_cast<std::int64_t>(random.below(side));
        const std::int64_t radius = 1 + static_cast<std::int64_t>(random.below(side / 8 + 1));
        const auto edge = static_cast<std::int64_t>(side);
        for (std::int64_t z = std::max<std::int64_t>(0, centre[0] - radius);
             z < std::min(edge, centre[0] + radius); ++z)
            for (std::int64_t y = std::max<std::int64_t>(0, centre[1] - radius);
                 y < std::min(edge, centre[1] + radius); ++y)
                for (std::int64_t x = std::max<std::int64_t>(0, centre[2] - radius);
                     x < std::min(edge, centre[2] + radius); ++x) {
                    const std::int64_t dz = z - centre[0], dy = y - centre[1], dx = x - centre[2];
                    if (dz * dz + dy * dy + dx * dx < radius * radius)
                        values[static_cast<std::size_t>((z * edge + y) * edge + x)] = 1;
                }
    }
    return values;
}

/// Grows by gaps of this mean and more.
inline FamilyValues growing(std::size_t n, std::uint64_t start, std::uint64_t step,
                            std::uint64_t mean_gap, FamilyRandom& random) {
    FamilyValues values(n);
    std::uint64_t value = start;
    for (std::uint64_t& v : values) {
        v = value;
        value += step + random.geometric(mean_gap);
    }
    return values;
}

inline const std::vector<std::string>& family_names() {
    static const std::vector<std::string> names = {
        "sequential",    "gaps",        "shuffled_4096", "shuffled_5000", "morton",
        "sparse_morton", "permuted",    "counts",        "counter",       "sparse_mask",
        "blobs",         "sorted_keys", "enumeration",   "regions",       "timestamps",
        "jitter",        "constant",    "signed_levels", "grid",          "noise"};
    return names;
}

/// What does not fit the width wraps around, as it would in a simulation.
inline FamilyValues family(const std::string& name, std::size_t n, std::uint64_t seed) {
    FamilyRandom random(seed);
    FamilyValues values(n);
    const auto fill = [&](auto value) {
        for (std::size_t i = 0; i < n; ++i) values[i] = value(i);
        return values;
    };
    constexpr std::uint64_t k_now_ns = 1'750'000'000'000'000'000;
    if (name == "sequential") return fill([](std::size_t i) { return 1000003 + i; });
    if (name == "gaps") return growing(n, 17, 1, 4, random);
    if (name == "shuffled_4096") return shuffled(n, 4096, random);
    if (name == "shuffled_900") {  // far from 0, in blocks of no power of two
        values = shuffled(n, 900, random);
        for (std::uint64_t& value : values)
            value = 1'000'000 + value / 900 * 5'000'000 + value % 900;
        return values;
    }
    if (name == "clusters") {  // near each other by the thousand, anywhere
        std::uint64_t base = 0;
        return fill([&](std::size_t i) {
            if (i % 1024 == 0) base = random.below(1U << 30);
            return base + random.below(40);
        });
    }
    if (name == "shuffled_5000") return shuffled(n, 5000, random);
    if (name == "morton") return morton_ids(n);
    if (name == "sparse_morton") return sparse_morton_ids(n, random);
    if (name == "permuted") return shuffled(n, n, random);
    if (name == "counts") return fill([&](std::size_t) { return random.geometric(6); });
    if (name == "counter") return growing(n, 5, 0, 3, random);
    if (name == "sparse_mask")
        return fill([&](std::size_t) { return std::uint64_t{random.below(200) == 0}; });
    if (name == "blobs") return blobs(n, random);
    if (name == "sorted_keys") {
        fill([&](std::size_t) { return random.bits() >> 4; });
        std::sort(values.begin(), values.end());
        return values;
    }
    if (name == "enumeration") {
        const std::uint64_t kinds[] = {3, 7, 11, 1000, 70000, 5'000'000'000, 12, 42};
        return fill(
            [&](std::size_t) { return kinds[std::min<std::uint64_t>(7, random.geometric(3))]; });
    }
    if (name == "regions") {  // labels that hold for a while
        std::uint64_t label = 0;
        return fill([&](std::size_t) {
            if (random.below(60) == 0) label = 100 + random.below(12);
            return label;
        });
    }
    if (name == "timestamps") return fill([](std::size_t i) { return k_now_ns + 40'000 * i; });
    if (name == "jitter")
        return fill([&](std::size_t i) { return k_now_ns + 40'000 * i + random.below(1000); });
    if (name == "constant") return fill([](std::size_t) { return std::uint64_t{12345}; });
    if (name == "signed_levels") {  // a walk around zero
        std::uint64_t value = 0;
        return fill([&](std::size_t) {
            value += random.below(9) - 4;
            return value;
        });
    }
    if (name == "grid") {  // smooth along two axes, as an elevation is
        const std::size_t row = 512;
        return fill([&](std::size_t i) {
            const std::uint64_t x = i % row, y = i / row;
            return (x * (row - x) + y * (4096 - y)) / 300 + random.below(3);
        });
    }
    return fill([&](std::size_t) { return random.bits(); });
}

/// As values of a type, which lie as a file has them.
inline std::vector<std::byte> as_bytes_of(const FamilyValues& values, DType dtype) {
    const std::size_t width = size_of(dtype);
    std::vector<std::byte> bytes(values.size() * width);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t b = 0; b < width; ++b)
            bytes[i * width + b] = static_cast<std::byte>(values[i] >> (8 * b));
    return bytes;
}

}  // namespace caesura::codec
