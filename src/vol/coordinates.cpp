#include "vol/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

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
    return is_in(name, {"xc", "yc", "zc", "lev", "level", "levels", "plev", "depth", "altitude",
                        "easting", "northing", "coordx", "coordy", "coordz", "coordinatex",
                        "coordinatey", "coordinatez"});
}

/// x, y and z of grids and of H5Part's particles are places; those of momentum/x are not.
bool is_place_in(const std::string& group, std::string_view name) {
    return is_in(name, {"x", "y", "z"}) &&
           (group.starts_with("step#") ||
            is_in(group, {"", "grid", "mesh", "axes", "particles", "points", "cells"}));
}

std::string last_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string coordinate_by_path(const std::string& path, int rank) {
    const std::string own = last_of(path), name = lower(own);
    const std::string above = path.substr(0, path.size() - std::min(path.size(), own.size() + 1));
    if (is_place_on_earth(name) || is_geometry(name) ||
        (rank == 1 && (is_axis(name) || is_place_in(lower(last_of(above)), name))))
        return fmt::format("its name is '{}'", own);
    // position/x of openPMD, GridCoordinates/CoordinateX/" data" of CGNS, Mesh/0/mesh/geometry.
    std::istringstream groups(above);
    for (std::string group; std::getline(groups, group, '/');)
        if (is_in(lower(group), {"position", "positions", "positionoffset", "gridcoordinates",
                                 "geometry", "coordinates"}))
            return fmt::format("it is in a group '{}'", group);
    return {};
}

std::span<const std::string_view> NamedCoordinates::lists() {
    static constexpr std::array<std::string_view, 7> k_lists = {
        "coordinates",      "bounds",           "climatology",       "node_coordinates",
        "face_coordinates", "edge_coordinates", "volume_coordinates"};
    return k_lists;
}

bool NamedCoordinates::is_list(const std::string& attribute) {
    return std::find(lists().begin(), lists().end(), attribute) != lists().end();
}

void NamedCoordinates::add(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) names_.insert(last_of(word));
}

bool NamedCoordinates::has(const std::string& path) const { return names_.contains(last_of(path)); }

}  // namespace caesura::vol
