// Goal: no value is held to less than a map of bounds asks of it, whatever the map and the block.
#include "codec/bound/bound_map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace caesura::codec {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

std::vector<double> random_values(std::mt19937_64& random, std::uint64_t n) {
    std::normal_distribution<double> step(0.0, 1.0);
    std::vector<double> values(n);
    double value = 0.0;
    for (double& one : values) {
        value = random() % 64 == 0 ? step(random) * 20 : 0.9 * value + 0.1 * step(random);
        one = random() % 5000 == 0 ? std::nan("") : value;
    }
    return values;
}

Box random_box(std::mt19937_64& random, const Shape& shape) {
    Box box{shape, shape};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        box.offset[axis] = random() % shape[axis];
        box.extent[axis] = 1 + random() % (shape[axis] - box.offset[axis]);
    }
    return box;
}

BoundMap random_map(std::mt19937_64& random, const Shape& shape) {
    const auto bound = [&] {
        return random() % 5 == 0 ? 0.0 : std::pow(10.0, -double(random() % 6));
    };
    BoundMap map;
    for (std::uint64_t n = random() % 3; n > 0; --n)
        map.boxes.push_back({random_box(random, shape), bound()});
    for (std::uint64_t n = random() % 3; n > 0; --n) {
        const double lowest = static_cast<double>(random() % 20) - 10;
        map.values.push_back({lowest, random() % 3 == 0 ? k_infinity : lowest + 2, bound()});
    }
    for (std::uint64_t n = random() % 2; n > 0; --n)
        map.steep.push_back({1.0 + static_cast<double>(random() % 30), bound()});
    return map;
}

/// By the definition, value by value: the reference.
double bound_at(const BoundMap& map, double elsewhere, const Box& block,
                const std::vector<double>& values, const Shape& at) {
    const auto value_at = [&](const Shape& place) {
        std::uint64_t index = 0;
        for (int axis = 0; axis < place.rank(); ++axis)
            index = index * block.extent[axis] + place[axis];
        return values[index];
    };
    double bound = k_infinity;
    Box one{at, Shape::filled(at.rank(), 1)};
    double change = 0.0;
    for (int axis = 0; axis < at.rank(); ++axis) {
        one.offset[axis] += block.offset[axis];
        Shape beside = at;
        for (const int step : {-1, 1}) {
            beside[axis] = at[axis] + static_cast<std::uint64_t>(step);
            if (beside[axis] < block.extent[axis])
                change = std::fmax(change, std::abs(value_at(at) - value_at(beside)));
        }
    }
    for (const auto& rule : map.boxes)
        if (intersect(rule.box, one)) bound = std::min(bound, rule.bound);
    for (const auto& rule : map.values)
        if (value_at(at) >= rule.lowest && value_at(at) <= rule.highest)
            bound = std::min(bound, rule.bound);
    for (const auto& rule : map.steep)
        if (change >= rule.change) bound = std::min(bound, rule.bound);
    return std::isinf(bound) ? elsewhere : bound;
}

void expect_no_layer_looser(const BoundMap& map, double elsewhere, const Box& block,
                            const std::vector<double>& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    const auto layers = bound_layers(map, elsewhere, block, bytes, float64);
    const std::uint64_t plane_values = block.extent.count() / block.extent[0];
    std::uint64_t plane = 0;
    std::size_t layer = 0;
    std::uint64_t end = layers.at(0).planes;
    for (std::uint64_t i = 0; i < values.size(); ++i) {
        plane = i / plane_values;
        if (plane == end) end += layers.at(++layer).planes;
        Shape at = block.extent;
        std::uint64_t rest = i;
        for (int axis = at.rank() - 1; axis >= 0; --axis) {
            at[axis] = rest % block.extent[axis];
            rest /= block.extent[axis];
        }
        ASSERT_LE(layers[layer].bound, bound_at(map, elsewhere, block, values, at))
            << "value " << i << " in layer " << layer;
    }
    EXPECT_EQ(layer + 1, layers.size());
    EXPECT_EQ(end, block.extent[0]);
}

TEST(BoundMap, holds_every_value_to_its_rules) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<Shape> shapes = {Shape{70, 60, 50}, Shape{300, 700}, Shape{150001},
                                       Shape{5, 40, 30, 20}, Shape{1, 1, 1}};
    for (int repeat = 0; repeat < 25; ++repeat) {
        const Shape& field = shapes[random() % shapes.size()];
        const Box block = random_box(random, field);
        const BoundMap map = random_map(random, field);
        ASSERT_TRUE(validate(map, field).ok());
        const auto values = random_values(random, block.extent.count());
        expect_no_layer_looser(map, random() % 4 == 0 ? 0.0 : 1e-3, block, values);
    }
}

TEST(BoundMap, keeps_layers_without_tight_values_loose) {
    BoundMap map;
    map.boxes.push_back({{Shape{40, 0, 0}, Shape{1, 5, 5}}, 1e-5});
    const Box block{Shape{0, 0, 0}, Shape{128, 128, 128}};
    const std::vector<BoundLayer> expected = {{40, 1e-2}, {4, 1e-5}, {84, 1e-2}};
    EXPECT_EQ(bound_layers(map, 1e-2, block, nullptr, float32), expected);
    map.boxes[0].bound = 0.0;
    EXPECT_EQ(bound_layers(map, 1e-2, block, nullptr, float32)[1].bound, 0.0);
}

TEST(BoundMap, loosens_what_one_rule_covers) {
    BoundMap map;
    map.boxes.push_back({{Shape{0, 0}, Shape{64, 1024}}, 0.5});
    const Box block{Shape{0, 0}, Shape{128, 1024}};
    const std::vector<BoundLayer> by_box = {{64, 0.5}, {64, 1e-3}};
    EXPECT_EQ(bound_layers(map, 1e-3, block, nullptr, float32), by_box);
    const std::vector<float> zeros(block.extent.count(), 0.0f);
    map.boxes.clear();
    map.values.push_back({-1.0, 1.0, 0.5});
    const std::vector<BoundLayer> by_value = {{128, 0.5}};
    EXPECT_EQ(bound_layers(map, 1e-3, block, std::as_bytes(std::span(zeros)).data(), float32),
              by_value);
}

void expect_refused(const BoundMap& map, const std::string& part) {
    const Status status = validate(map, Shape{10, 20});
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(BoundMap, refuses_rules_that_cannot_be_meant) {
    BoundMap box;
    box.boxes.push_back({{Shape{0, 5}, Shape{10, 16}}, 1e-3});
    expect_refused(box, "box 0 (offset [0, 5] extent [10, 16]): it leaves the field [10, 20]");
    box.boxes[0].box = {Shape{0, 0}, Shape{10, 0}};
    expect_refused(box, "empty along axis 1");
    box.boxes[0].box = {Shape{0}, Shape{10}};
    expect_refused(box, "has 2 axes");
    box.boxes[0] = {{Shape{0, 0}, Shape{1, ~std::uint64_t{0}}}, 1e-3};
    expect_refused(box, "leaves the field");
    box.boxes[0] = {{Shape{0, 0}, Shape{1, 1}}, -1.0};
    expect_refused(box, "the bound is -1");
    BoundMap value;
    value.values.push_back({2.0, 1.0, 1e-3});
    expect_refused(value, "value range 0: from 2 to 1");
    value.values[0] = {1.0, 2.0, std::nan("")};
    expect_refused(value, "the bound is nan");
    BoundMap steep;
    steep.steep.push_back({0.0, 1e-3});
    expect_refused(steep, "gradient 0: the change is 0");
    BoundMap many;
    many.steep.assign(k_most_bound_rules + 1, {1.0, 1e-3});
    expect_refused(many, "257 rules");
}

TEST(BoundMap, says_its_rules_as_text) {
    BoundMap map;
    map.boxes.push_back({{Shape{1, 2}, Shape{3, 4}}, 1e-5});
    map.values.push_back({-k_infinity, 0.5, 0.0});
    map.steep.push_back({2.0, 0.25});
    EXPECT_EQ(to_json(map, 0.01),
              R"({"elsewhere": 0.01, "boxes": [{"offset": [1, 2], "extent": [3, 4], )"
              R"("bound": 1e-05}], "values": [{"lowest": null, "highest": 0.5, "bound": 0}], )"
              R"("steep": [{"change": 2, "bound": 0.25}]})");
    EXPECT_EQ(tightest_bound(map, 0.01), 0.0);
    EXPECT_EQ(loosest_bound(map, 0.01), 0.25);
}

}  // namespace
}  // namespace caesura::codec
