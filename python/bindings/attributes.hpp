// Shapes, filters and attributes of files as Python has them.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <variant>

#include "bindings.hpp"
#include "caesura/store.hpp"

namespace caesura::python {

inline nb::object shape_to_python(const Shape& shape) {
    nb::list axes;
    for (int axis = 0; axis < shape.rank(); ++axis) axes.append(shape[axis]);
    return nb::tuple(axes);
}

inline nb::dict attributes_to_python(const std::vector<store::Attribute>& attributes) {
    nb::dict out;
    for (const auto& attribute : attributes)
        out[attribute.name.c_str()] = std::visit(
            [](const auto& value) -> nb::object { return nb::cast(value); }, attribute.value);
    return out;
}

/// A value as caesura.attributes.attribute_value has it.
inline store::AttributeValue to_attribute_value(const std::string& type, nb::handle value) {
    if (type == "int64") return nb::cast<std::int64_t>(value);
    if (type == "uint64") return nb::cast<std::uint64_t>(value);
    if (type == "float64") return nb::cast<double>(value);
    if (type == "float32") return static_cast<float>(nb::cast<double>(value));
    if (type == "int64s") return nb::cast<std::vector<std::int64_t>>(value);
    if (type == "uint64s") return nb::cast<std::vector<std::uint64_t>>(value);
    if (type == "float64s") return nb::cast<std::vector<double>>(value);
    if (type == "strings") return nb::cast<std::vector<std::string>>(value);
    return nb::cast<std::string>(value);
}

/// By name, pairs of a type and a value.
inline std::vector<store::Attribute> to_attributes(const nb::dict& from) {
    std::vector<store::Attribute> out;
    for (const auto& [name, pair] : from)
        out.push_back({nb::cast<std::string>(name),
                       to_attribute_value(nb::cast<std::string>(pair[0]), pair[1])});
    return out;
}

inline nb::dict filter_to_python(const FilterSpec& filter) {
    nb::dict out;
    out["id"] = filter.id;
    out["optional"] = filter.optional;
    out["cd_values"] = nb::cast(filter.cd_values);
    out["name"] = filter.name;
    return out;
}

}  // namespace caesura::python
