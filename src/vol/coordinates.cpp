#include "vol/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "vol/native_attribute.hpp"

namespace caesura::vol {
namespace {

using Names = std::initializer_list<std::string_view>;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(c));
    });
    return text;
}

bool is_in(std::string_view name, Names names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool ends_in(std::string_view name, Names ends) {
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); });
}

/// Of points on the earth, as netCDF files of ocean and atmosphere have them: lon, nav_lat, XLONG,
/// TLAT, lon_rho, geolat_t, longitude.
bool is_place_on_earth(std::string_view name) {
    if (name.find("longitude") != name.npos || name.find("latitude") != name.npos) return true;
    for (const std::string_view word : {"long", "lon", "lat"}) {
        // A first letter says of which grid: rlon, xlong, glat, tlat, ulong.
        for (const std::string_view before : {"", "nav_", "geo", "x", "r", "g", "t", "u", "v"}) {
            std::string_view rest = name;
            if (!rest.starts_with(before)) continue;
            rest.remove_prefix(before.size());
            if (!rest.starts_with(word)) continue;
            rest.remove_prefix(word.size());
            if (rest.empty() || rest == "s" || rest.front() == '_') return true;
        }
    }
    return false;
}

/// Of any number of axes: names of arrays of points, and of what is around a coordinate.
bool is_geometry(std::string_view name) {
    return is_in(name, {"geometry", "topology", "coordinates", "coordinate", "coords", "coord",
                        "points", "vertices", "nodes", "xyz", "node_coordinates", "position",
                        "positions", "positionoffset", "time", "times"}) ||
           name.starts_with("coordinate_") || name.starts_with("particle_position") ||
           ends_in(name, {"_bnds", "_bnd", "_bounds", "_coordinates", "_node_x", "_node_y",
                          "_node_z", "_face_x", "_face_y", "_edge_x", "_edge_y"});
}

/// Of one axis alone: there may be fields of these names on grids of more.
bool is_axis(std::string_view name) {
    return is_in(
        name, {"x",      "y",      "z",      "xc",          "yc",          "zc",         "lev",
               "level",  "levels", "plev",   "depth",       "altitude",    "easting",    "northing",
               "coordx", "coordy", "coordz", "coordinatex", "coordinatey", "coordinatez"});
}

std::string last_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// CF: quantities that are places or times, not fields.
bool is_standard_name(std::string_view name) {
    return is_in(name, {"longitude", "latitude", "grid_longitude", "grid_latitude", "time",
                        "forecast_reference_time", "forecast_period", "depth"}) ||
           name.ends_with("_coordinate");
}

bool is_unit(std::string_view unit) {
    return is_in(unit, {"degrees_north", "degree_north", "degrees_n", "degree_n", "degreesn",
                        "degrees_east", "degree_east", "degrees_e", "degree_e", "degreese"}) ||
           unit.find("_since_") != unit.npos;
}

}  // namespace

std::string coordinate_by_path(const std::string& path, int rank) {
    const std::string own = last_of(path), name = lower(own);
    if (is_place_on_earth(name) || is_geometry(name) || (rank == 1 && is_axis(name)))
        return fmt::format("its name is '{}'", own);
    if (path.size() <= own.size() + 1) return {};
    // position/x of openPMD, GridCoordinates/CoordinateX/" data" of CGNS, Mesh/0/mesh/geometry.
    std::istringstream groups(path.substr(0, path.size() - own.size() - 1));
    for (std::string group; std::getline(groups, group, '/');)
        if (is_in(lower(group), {"position", "positions", "positionoffset", "gridcoordinates",
                                 "geometry", "coordinates"}))
            return fmt::format("it is in a group '{}'", group);
    return {};
}

bool NamedCoordinates::is_list(const std::string& attribute) {
    return is_in(attribute, {"coordinates", "bounds", "climatology", "node_coordinates",
                             "face_coordinates", "edge_coordinates", "volume_coordinates"});
}

void NamedCoordinates::add(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) names_.insert(last_of(word));
}

void NamedCoordinates::add_lists_of(const NativeObject& object) {
    for (const char* list : {"coordinates", "bounds", "climatology", "node_coordinates",
                             "face_coordinates", "edge_coordinates", "volume_coordinates"})
        if (NativeAttribute::exists(object, list))
            if (const auto text = NativeAttribute(object, ".", list).text()) add(*text);
}

bool NamedCoordinates::has(const std::string& path) const { return names_.contains(last_of(path)); }

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
