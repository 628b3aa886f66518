// For tests: random objects, cut into regions at random, analysed in any order and merged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "lambda/registry.hpp"

namespace caesura::lambda {

/// An object in memory, and its regions.
template <class T>
struct TestObject {
    Shape shape;
    std::vector<T> values;
    struct Region {
        Box box;
        std::vector<T> values;
    };
    std::vector<Region> regions;

    RegionView view(const Box& box, const std::vector<T>& of_box) const {
        RegionView region;
        region.object = "rho";
        region.id = 7;
        region.dtype = sizeof(T) == 4 ? float32 : float64;
        region.shape = shape;
        region.box = box;
        region.time = 1.5;
        region.owner = "tester";
        region.values = std::as_bytes(std::span(of_box));
        return region;
    }
    RegionView whole() const { return view({Shape::filled(shape.rank(), 0), shape}, values); }
    RegionView region(std::size_t i) const { return view(regions[i].box, regions[i].values); }

    /// Cut boxes in two at random places until there are `n`, or only single values are left.
    void cut(std::size_t n, std::mt19937_64& random) {
        std::vector<Box> boxes{{Shape::filled(shape.rank(), 0), shape}};
        for (std::size_t tries = 0; tries < 20 * n && boxes.size() < n; ++tries) {
            const std::size_t which = random() % boxes.size();
            const int axis = static_cast<int>(random() % static_cast<unsigned>(shape.rank()));
            Box first = boxes[which], second = first;
            const std::uint64_t extent = first.extent[axis];
            if (extent < 2) continue;
            const std::uint64_t length = 1 + random() % (extent - 1);
            first.extent[axis] = length;
            second.offset[axis] += length;
            second.extent[axis] -= length;
            boxes[which] = first;
            boxes.push_back(second);
        }
        std::shuffle(boxes.begin(), boxes.end(), random);
        regions.clear();
        for (const Box& box : boxes) {
            std::vector<T> of_box(box.extent.count());
            copy_box(box, {Shape::filled(shape.rank(), 0), shape},
                     reinterpret_cast<const std::byte*>(values.data()), box,
                     reinterpret_cast<std::byte*>(of_box.data()), sizeof(T));
            regions.push_back({box, std::move(of_box)});
        }
    }
};

/// Waves and noise, and NaN and infinities if so wished.
template <class T>
TestObject<T> random_object(const Shape& shape, std::mt19937_64& random, double wild_share = 0.0) {
    TestObject<T> object{shape, std::vector<T>(shape.count()), {}};
    std::uniform_real_distribution<double> share(0.0, 1.0);
    std::normal_distribution<double> noise;
    for (std::size_t i = 0; i < object.values.size(); ++i)
        object.values[i] =
            static_cast<T>(std::sin(0.1 * static_cast<double>(i)) + 0.3 * noise(random));
    constexpr T k_wild[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity()};
    for (T& value : object.values)
        if (share(random) < wild_share) value = k_wild[random() % 3];
    return object;
}

inline Shape random_shape(int rank, std::uint64_t most, std::mt19937_64& random) {
    Shape shape = Shape::filled(rank, 1);
    for (int axis = 0; axis < rank; ++axis) shape[axis] = 1 + random() % most;
    return shape;
}

template <class T>
T take(Result<T>&& result) {
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
}

/// As servers do it: regions dealt out at random, states travel as bytes, merged in random order.
template <class T>
Result<Results> in_parts(const Registry& registry, const std::string& call,
                         const TestObject<T>& object, std::mt19937_64& random,
                         std::size_t servers = 3) {
    auto begin = registry.start(call);
    if (!begin.ok()) return begin.status();
    std::vector<std::byte> start = begin->bytes();
    while (true) {
        std::vector<AnalysisState> states;
        for (std::size_t i = 0; i < servers; ++i) {
            auto state = registry.parse_state(start);
            if (!state.ok()) return state.status();
            states.push_back(std::move(*state));
        }
        for (std::size_t i = 0; i < object.regions.size(); ++i)
            if (Status s = states[random() % servers].add(object.region(i)); !s.ok()) return s;
        while (states.size() > 1) {
            std::shuffle(states.begin(), states.end(), random);
            auto travelled = registry.parse_state(states.back().bytes());
            if (!travelled.ok()) return travelled.status();
            states.pop_back();
            if (Status s = states.back().merge(*travelled); !s.ok()) return s;
        }
        if (states[0].passes_left() == 0) return states[0].finish();
        if (Status s = states[0].next_pass(); !s.ok()) return s;
        start = states[0].bytes();
    }
}

inline double number(const Results& results, std::string_view name) {
    const Value* value = results.find(name);
    EXPECT_NE(value, nullptr) << name;
    if (const auto* whole = value ? std::get_if<std::int64_t>(value) : nullptr)
        return static_cast<double>(*whole);
    return value ? std::get<double>(*value) : 0.0;
}

template <class T>
std::vector<T> list(const Results& results, std::string_view name) {
    const Value* value = results.find(name);
    EXPECT_NE(value, nullptr) << name;
    return value ? std::get<std::vector<T>>(*value) : std::vector<T>();
}

/// Change, cut or lengthen bytes at random.
inline std::vector<std::byte> mutated(std::vector<std::byte> bytes, std::mt19937_64& random) {
    const auto any_byte = [&] { return static_cast<std::byte>(random() & 0xff); };
    switch (random() % 8) {
        case 0:
            bytes.resize(bytes.empty() ? 0 : random() % bytes.size());
            break;
        case 1:
            bytes.push_back(any_byte());
            break;
        case 2:  // a length, perhaps
            if (bytes.size() >= 8) {
                const std::uint64_t value = std::uint64_t{1} << random() % 64;
                std::memcpy(&bytes[random() % (bytes.size() - 7)], &value, sizeof value);
            }
            break;
        default:
            for (std::size_t n = 1 + random() % 4; n > 0 && !bytes.empty(); --n)
                bytes[random() % bytes.size()] = any_byte();
    }
    return bytes;
}

}  // namespace caesura::lambda
