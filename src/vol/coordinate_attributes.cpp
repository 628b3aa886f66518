// What attributes say of coordinates: HDF5's dimension scales, and the CF conventions of netCDF.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "vol/coordinates.hpp"
#include "vol/native_attribute.hpp"

namespace caesura::vol {
namespace {

using Names = std::initializer_list<std::string_view>;

bool is_in(std::string_view name, Names names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// CF: quantities that are places or times, not fields.
bool is_standard_name(std::string_view name) {
    return is_in(name, {"longitude", "latitude", "grid_longitude", "grid_latitude", "time",
                        "forecast_reference_time", "forecast_period", "depth"}) ||
           name.ends_with("_coordinate");
}

bool is_unit(std::string_view unit) {
    return is_in(unit, {"degrees_north", "degree_north", "degrees_n", "degree_n", "degreesn",
                        "degrees_east", "degree_east", "degrees_e", "degree_e", "degreese"}) ||
           unit.find(" since ") != unit.npos;
}

}  // namespace

void NamedCoordinates::add_lists_of(const NativeObject& object) {
    for (const std::string_view list : lists()) {
        const std::string name(list);
        if (!NativeAttribute::exists(object, name.c_str())) continue;
        if (const auto text = NativeAttribute(object, ".", name).text()) add(*text);
    }
}

std::string coordinate_by_attributes(const NativeObject& dataset) {
    const auto text = [&](const char* name) {
        if (!NativeAttribute::exists(dataset, name)) return std::string();
        return NativeAttribute(dataset, ".", name).text().value_or("");
    };
    if (text("CLASS") == "DIMENSION_SCALE") return "it is a dimension scale";
    for (const char* name : {"axis", "_CoordinateAxisType", "bounds", "climatology"})
        if (const std::string value = text(name); !value.empty())
            return fmt::format("it has an attribute {} = '{}'", name, value);
    if (const std::string name = text("standard_name"); is_standard_name(name))
        return fmt::format("its standard_name is '{}'", name);
    if (const std::string unit = text("units"); is_unit(lower(unit)))
        return fmt::format("its units are '{}'", unit);
    return {};
}

std::string coordinate_by_attributes(const NativeObject& dataset, const std::string& path,
                                     const NamedCoordinates& named) {
    if (named.has(path)) return "an attribute lists it among coordinates or their bounds";
    return coordinate_by_attributes(dataset);
}

}  // namespace caesura::vol
