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

inline nb::dict filter_to_python(const FilterSpec& filter) {
    nb::dict out;
    out["id"] = filter.id;
    out["optional"] = filter.optional;
    out["cd_values"] = nb::cast(filter.cd_values);
    out["name"] = filter.name;
    return out;
}

}  // namespace caesura::python
