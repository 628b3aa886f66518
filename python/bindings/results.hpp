// What an analysis found, as a dict.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "lambda/results.hpp"

namespace caesura::python {

inline nb::object to_python_value(const lambda::Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return nb::cast(*whole);
    if (const auto* number = std::get_if<double>(&value)) return nb::cast(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return nb::cast(*text);
    if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value))
        return nb::cast(*wholes);
    return nb::cast(std::get<std::vector<double>>(value));
}

inline nb::dict to_python_results(const lambda::Results& results) {
    nb::dict out;
    for (const auto& [name, value] : results.entries()) out[name.c_str()] = to_python_value(value);
    return out;
}

}  // namespace caesura::python
