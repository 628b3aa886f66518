#include "codec/bound/bound_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/short_float.hpp"

namespace caesura {
namespace {

Status wrong_bound(std::string_view rule, std::size_t number, double bound) {
    if (std::isfinite(bound) && bound >= 0) return {};
    return {StatusCode::invalid_argument,
            fmt::format("bound map, {} {}: the bound is {}; give a finite number, 0 for exact",
                        rule, number, bound)};
}

Status check_box(const BoundMap::InBox& rule, std::size_t number, const Shape& shape) {
    const Box& box = rule.box;
    const auto wrong = [&](std::string_view what) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("bound map, box {} ({}): {}", number, to_string(box), what));
    };
    if (box.offset.rank() != shape.rank() || box.extent.rank() != shape.rank())
        return wrong(fmt::format("the field {} has {} axes", to_string(shape), shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (box.extent[axis] == 0) return wrong(fmt::format("it is empty along axis {}", axis));
        if (box.extent[axis] > shape[axis] || box.offset[axis] > shape[axis] - box.extent[axis])
            return wrong(
                fmt::format("it leaves the field {} along axis {}", to_string(shape), axis));
    }
    return wrong_bound("box", number, rule.bound);
}

}  // namespace

Status validate(const BoundMap& map, const Shape& shape) {
    if (map.rules() > k_most_bound_rules)
        return {StatusCode::invalid_argument, fmt::format("bound map: {} rules; at most {} can be",
                                                          map.rules(), k_most_bound_rules)};
    for (std::size_t i = 0; i < map.boxes.size(); ++i)
        if (Status status = check_box(map.boxes[i], i, shape); !status.ok()) return status;
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        const auto& rule = map.values[i];
        if (!(rule.lowest <= rule.highest))
            return {StatusCode::invalid_argument,
                    fmt::format("bound map, value range {}: from {} to {} there is no value", i,
                                rule.lowest, rule.highest)};
        if (Status status = wrong_bound("value range", i, rule.bound); !status.ok()) return status;
    }
    for (std::size_t i = 0; i < map.steep.size(); ++i) {
        const auto& rule = map.steep[i];
        if (!(std::isfinite(rule.change) && rule.change > 0))
            return {StatusCode::invalid_argument,
                    fmt::format("bound map, gradient {}: the change is {}; give a finite number "
                                "above 0",
                                i, rule.change)};
        if (Status status = wrong_bound("gradient", i, rule.bound); !status.ok()) return status;
    }
    return {};
}

namespace codec {
namespace {

constexpr std::uint64_t k_least_layer_values = 1U << 16;

/// What is seen of a few planes of a block.
template <class T>
struct Seen {
    T lowest = std::numeric_limits<T>::infinity();
    T highest = -std::numeric_limits<T>::infinity();
    bool any_nan = false;
    double change = 0.0;  ///< the largest from a value to a neighbour in the block
};

template <class T>
struct Block {
    const T* values = nullptr;
    Shape shape;
    std::uint64_t plane_values = 0;
};

/// The largest difference between rows of n values that lie one after the other.
template <class T>
double largest_change(const T* a, const T* b, std::uint64_t n) {
    double most = 0.0;
    for (std::uint64_t i = 0; i < n; ++i) {
        const double change = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        most = change > most ? change : most;  // false for NaN
    }
    return most;
}

/// Between neighbours in `planes` planes, and from them to the planes beside them.
template <class T>
double change_in(const Block<T>& block, std::uint64_t first, std::uint64_t planes) {
    const T* const begin = block.values + first * block.plane_values;
    double most = 0.0;
    std::uint64_t step = block.plane_values;  // to the neighbour along the axis
    std::uint64_t lines = planes;             // of `step` values
    for (int axis = 1; axis < block.shape.rank(); ++axis) {
        const std::uint64_t extent = block.shape[axis];
        step /= extent;
        for (std::uint64_t line = 0; line < lines; ++line) {
            const T* const at = begin + line * extent * step;
            most = std::max(most, largest_change(at, at + step, (extent - 1) * step));
        }
        lines *= extent;
    }
    const std::uint64_t from = first > 0 ? first - 1 : first;
    const std::uint64_t to = std::min(first + planes + 1, block.shape[0]);
    const T* const before = block.values + from * block.plane_values;
    return std::max(most, largest_change(before, before + block.plane_values,
                                         (to - from - 1) * block.plane_values));
}

template <class T>
Seen<T> look(const Block<T>& block, std::uint64_t first, std::uint64_t planes, bool changes) {
    Seen<T> seen;
    const T* const values = block.values + first * block.plane_values;
    for (std::uint64_t i = 0; i < planes * block.plane_values; ++i) {
        seen.lowest = values[i] < seen.lowest ? values[i] : seen.lowest;
        seen.highest = values[i] > seen.highest ? values[i] : seen.highest;
        seen.any_nan |= std::isnan(values[i]);
    }
    if (changes) seen.change = change_in(block, first, planes);
    return seen;
}

bool is_inside(double value, const BoundMap::OfValue& rule) {
    return value >= rule.lowest && value <= rule.highest;
}

template <class T>
bool any_inside(const T* values, std::uint64_t n, const BoundMap::OfValue& rule) {
    for (std::uint64_t i = 0; i < n; ++i)
        if (is_inside(static_cast<double>(values[i]), rule)) return true;
    return false;
}

/// The tightest of what was said, and whether one rule alone said it of all values.
struct Held {
    double bound = std::numeric_limits<double>::infinity();
    bool all = false;
    void to(double other, bool by_all) {
        bound = std::min(bound, other);
        all = all || by_all;
    }
};

void hold_to_boxes(const BoundMap& map, const Box& layer, Held& held) {
    for (const BoundMap::InBox& rule : map.boxes)
        if (const auto common = intersect(rule.box, layer))
            held.to(rule.bound, common->extent == layer.extent);
}

template <class T>
void hold_to_values(const BoundMap& map, const Block<T>& block, std::uint64_t first,
                    std::uint64_t planes, Held& held) {
    const Seen<T> seen = look(block, first, planes, !map.steep.empty());
    const double lowest = seen.lowest, highest = seen.highest;
    for (const BoundMap::OfValue& rule : map.values) {
        if (rule.bound >= held.bound && held.all) continue;
        if (!(highest >= rule.lowest && lowest <= rule.highest)) continue;
        const bool low = is_inside(lowest, rule), high = is_inside(highest, rule);
        if (low || high ||
            any_inside(block.values + first * block.plane_values, planes * block.plane_values,
                       rule))
            held.to(rule.bound, low && high && !seen.any_nan);
    }
    for (const BoundMap::WhereSteep& rule : map.steep)
        if (seen.change >= rule.change) held.to(rule.bound, false);
}

template <class T>
std::vector<BoundLayer> layers_of(const BoundMap& map, double elsewhere, const Box& block,
                                  const T* values) {
    const Block<T> seen{values, block.extent, block.extent.count() / block.extent[0]};
    const std::uint64_t planes = (k_least_layer_values - 1) / seen.plane_values + 1;
    std::vector<BoundLayer> layers;
    for (std::uint64_t first = 0; first < block.extent[0]; first += planes) {
        Box layer = block;
        layer.offset[0] += first;
        layer.extent[0] = std::min(planes, block.extent[0] - first);
        Held held;
        hold_to_boxes(map, layer, held);
        if (looks_at_values(map)) hold_to_values(map, seen, first, layer.extent[0], held);
        if (!held.all) held.to(elsewhere, true);
        if (!layers.empty() && layers.back().bound == held.bound)
            layers.back().planes += layer.extent[0];
        else
            layers.push_back({layer.extent[0], held.bound});
    }
    return layers;
}

template <class Pick>
double pick_bound(const BoundMap& map, double bound, Pick pick) {
    for (const auto& rule : map.boxes) bound = pick(bound, rule.bound);
    for (const auto& rule : map.values) bound = pick(bound, rule.bound);
    for (const auto& rule : map.steep) bound = pick(bound, rule.bound);
    return bound;
}

std::string number(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string("null");
}

std::string extents(const Shape& shape) {
    return fmt::format("[{}]", fmt::join(shape.data(), shape.data() + shape.rank(), ", "));
}

}  // namespace

namespace {

/// Of planes that two lists hold to different bounds the tighter one.
std::vector<BoundLayer> tighter_of(std::span<const BoundLayer> one,
                                   std::span<const BoundLayer> other) {
    std::vector<BoundLayer> layers;
    std::uint64_t of_one = one[0].planes, of_other = other[0].planes;
    for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        const std::uint64_t planes = std::min(of_one, of_other);
        const double bound = std::min(one[i].bound, other[j].bound);
        if (!layers.empty() && layers.back().bound == bound)
            layers.back().planes += planes;
        else
            layers.push_back({planes, bound});
        if ((of_one -= planes) == 0 && ++i < one.size()) of_one = one[i].planes;
        if ((of_other -= planes) == 0 && ++j < other.size()) of_other = other[j].planes;
    }
    return layers;
}

/// Of complex numbers: each part is a block, and both are held to what is asked of either.
template <class T>
std::vector<BoundLayer> layers_of_parts(const BoundMap& map, double elsewhere, const Box& block,
                                        const T* values) {
    if (values == nullptr) return layers_of<T>(map, elsewhere, block, nullptr);
    std::vector<T> part(static_cast<std::size_t>(block.extent.count()));
    std::array<std::vector<BoundLayer>, 2> layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        for (std::size_t at = 0; at < part.size(); ++at) part[at] = values[2 * at + i];
        layers[i] = layers_of(map, elsewhere, block, part.data());
    }
    return tighter_of(layers[0], layers[1]);
}

}  // namespace

std::vector<BoundLayer> bound_layers(const BoundMap& map, double elsewhere, const Box& block,
                                     const std::byte* values, DType dtype) {
    if (dtype == complex64)
        return layers_of_parts(map, elsewhere, block, reinterpret_cast<const float*>(values));
    if (dtype == complex128)
        return layers_of_parts(map, elsewhere, block, reinterpret_cast<const double*>(values));
    if (dtype == float32)
        return layers_of(map, elsewhere, block, reinterpret_cast<const float*>(values));
    if (is_short_float(dtype) && values != nullptr) {
        std::vector<float> wide(static_cast<std::size_t>(block.extent.count()));
        base::widen({values, wide.size() * size_of(dtype)}, dtype,
                    reinterpret_cast<std::byte*>(wide.data()));
        return layers_of(map, elsewhere, block, wide.data());
    }
    return layers_of(map, elsewhere, block, reinterpret_cast<const double*>(values));
}

double tightest_bound(const BoundMap& map, double elsewhere) {
    return pick_bound(map, elsewhere, [](double a, double b) { return std::min(a, b); });
}

double loosest_bound(const BoundMap& map, double elsewhere) {
    return pick_bound(map, elsewhere, [](double a, double b) { return std::max(a, b); });
}

std::string to_json(const BoundMap& map, double elsewhere) {
    std::vector<std::string> boxes, values, steep;
    for (const auto& rule : map.boxes)
        boxes.push_back(fmt::format(R"({{"offset": {}, "extent": {}, "bound": {}}})",
                                    extents(rule.box.offset), extents(rule.box.extent),
                                    number(rule.bound)));
    for (const auto& rule : map.values)
        values.push_back(fmt::format(R"({{"lowest": {}, "highest": {}, "bound": {}}})",
                                     number(rule.lowest), number(rule.highest),
                                     number(rule.bound)));
    for (const auto& rule : map.steep)
        steep.push_back(fmt::format(R"({{"change": {}, "bound": {}}})", number(rule.change),
                                    number(rule.bound)));
    return fmt::format(R"({{"elsewhere": {}, "boxes": [{}], "values": [{}], "steep": [{}]}})",
                       number(elsewhere), fmt::join(boxes, ", "), fmt::join(values, ", "),
                       fmt::join(steep, ", "));
}

}  // namespace codec
}  // namespace caesura
