// The map of bounds of a rule: the words that the Writer's maps have in files.
//
//     bound_map = { boxes  = [{ offset = [40, 0, 0], extent = [16, 64, 64], bound = 1e-5 }],
//                   values = [{ lowest = 1e3, highest = inf, bound = 1e-4 }],
//                   steep  = [{ change = 0.5, bound = 0 }] }
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vol/config_table.hpp"

namespace caesura::vol {
namespace {

using std::string_view;
constexpr std::array k_map_keys = {string_view("boxes"), string_view("values"),
                                   string_view("steep")};
constexpr std::array k_box_keys = {string_view("offset"), string_view("extent"),
                                   string_view("bound")};
constexpr std::array k_value_keys = {string_view("lowest"), string_view("highest"),
                                     string_view("bound")};
constexpr std::array k_steep_keys = {string_view("change"), string_view("bound")};

BoundMap::InBox read_box(Table& table) {
    table.check_keys(k_box_keys);
    BoundMap::InBox rule;
    for (const auto& [key, shape] :
         {std::pair("offset", &rule.box.offset), std::pair("extent", &rule.box.extent)}) {
        if (table.node(key) == nullptr)
            table.bad(
                fmt::format("a box of 'dataset.bound_map' needs offset, extent and bound; "
                            "it has no {}",
                            key));
        *shape = table.get_extents(key, shape == &rule.box.offset ? 0 : 1);
    }
    rule.bound = table.need_number("bound");
    if (rule.box.offset.rank() != rule.box.extent.rank())
        table.bad(
            fmt::format("the box of 'dataset.bound_map' at {} of extent {} has two numbers "
                        "of axes",
                        to_string(rule.box.offset), to_string(rule.box.extent)));
    return rule;
}

BoundMap::OfValue read_values(Table& table) {
    table.check_keys(k_value_keys);
    constexpr string_view k_hint = "; inf and -inf are no limit";
    BoundMap::OfValue rule;
    rule.lowest = table.need_number("lowest", k_hint);
    rule.highest = table.need_number("highest", k_hint);
    rule.bound = table.need_number("bound");
    return rule;
}

BoundMap::WhereSteep read_steep(Table& table) {
    table.check_keys(k_steep_keys);
    BoundMap::WhereSteep rule;
    rule.change = table.need_number("change");
    rule.bound = table.need_number("bound");
    return rule;
}

/// An array that holds all boxes; rank 0: they do not have the same axes, or there are none.
Shape around(const std::vector<BoundMap::InBox>& boxes) {
    if (boxes.empty()) return {};
    Shape shape = Shape::filled(boxes.front().box.offset.rank(), 0);
    for (const BoundMap::InBox& rule : boxes) {
        if (rule.box.offset.rank() != shape.rank()) return {};
        for (int axis = 0; axis < shape.rank(); ++axis)
            shape[axis] = std::max(shape[axis], rule.box.offset[axis] + rule.box.extent[axis]);
    }
    return shape;
}

std::string extents_toml(const Shape& shape) {
    return fmt::format("[{}]", fmt::join(shape.data(), shape.data() + shape.rank(), ", "));
}

}  // namespace

std::optional<BoundMap> Table::get_bound_map() {
    const toml::node* const node = table_.get("bound_map");
    if (node == nullptr) return std::nullopt;
    if (!node->is_table()) {
        bad(*node, "'dataset.bound_map' must be a table with any of boxes, values and steep");
        return std::nullopt;
    }
    Table map_table(*node->as_table(), path_, in_ + "bound_map.");
    map_table.check_keys(k_map_keys);
    BoundMap map;
    const auto read_all = [&](string_view key, auto& rules, auto read) {
        const toml::node* const list = map_table.node(key);
        if (list == nullptr) return;
        if (!list->is_array() || !std::all_of(list->as_array()->begin(), list->as_array()->end(),
                                              [](const toml::node& one) { return one.is_table(); }))
            return map_table.bad(*list, fmt::format("'dataset.bound_map.{}' must be a list of "
                                                    "tables",
                                                    key));
        for (const toml::node& one : *list->as_array()) {
            Table entry(*one.as_table(), path_, fmt::format("{}bound_map.{}.", in_, key));
            rules.push_back(read(entry));
            if (map_table.status.ok()) map_table.status = entry.status;
        }
    };
    read_all("boxes", map.boxes, read_box);
    read_all("values", map.values, read_values);
    read_all("steep", map.steep, read_steep);
    if (map_table.status.ok()) {
        // Whether the boxes lie inside the dataset, H5Dcreate finds out.
        const Shape shape = around(map.boxes);
        if (shape.rank() == 0 && !map.boxes.empty())
            bad(*node, "the boxes of 'dataset.bound_map' have different numbers of axes");
        else if (const Status checked = validate(map, shape); !checked.ok())
            bad(*node, checked.message());
    }
    if (status.ok()) status = map_table.status;
    return map;
}

std::string bound_map_toml(const BoundMap& map) {
    std::vector<std::string> boxes, values, steep;
    for (const auto& rule : map.boxes)
        boxes.push_back(fmt::format("{{ offset = {}, extent = {}, bound = {} }}",
                                    extents_toml(rule.box.offset), extents_toml(rule.box.extent),
                                    number_toml(rule.bound)));
    for (const auto& rule : map.values)
        values.push_back(fmt::format("{{ lowest = {}, highest = {}, bound = {} }}",
                                     number_toml(rule.lowest), number_toml(rule.highest),
                                     number_toml(rule.bound)));
    for (const auto& rule : map.steep)
        steep.push_back(fmt::format("{{ change = {}, bound = {} }}", number_toml(rule.change),
                                    number_toml(rule.bound)));
    return fmt::format("bound_map = {{ boxes = [{}], values = [{}], steep = [{}] }}\n",
                       fmt::join(boxes, ", "), fmt::join(values, ", "), fmt::join(steep, ", "));
}

}  // namespace caesura::vol
