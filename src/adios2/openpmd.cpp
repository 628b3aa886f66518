#include "adios2/openpmd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/invalid.hpp"

namespace caesura::adios {
namespace {

/// Takes `folder` off the front of the path.
bool enter(std::string& path, const std::string& folder) {
    if (folder.empty() || !path.starts_with(folder)) return false;
    path.erase(0, folder.size());
    return true;
}

/// Takes "7/" off the front of the path.
std::optional<std::uint64_t> enter_number(std::string& path) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    if (error != std::errc() || end == path.data() + path.size() || *end != '/') return {};
    path.erase(0, static_cast<std::size_t>(end - path.data()) + 1);
    return number;
}

using base::invalid;
using store::AttributeValue;

/// A Writer makes patches itself, of where its ranks' particles lie.
bool is_patch(const std::string& path) {
    return path.find("/particlePatches/") != std::string::npos;
}

/// Of the file; the Writer says them of the file that it makes.
bool is_of_the_writer(const std::string& name) {
    static constexpr std::array k_names{"openPMD",        "openPMDextension", "basePath",
                                        "meshesPath",     "particlesPath",    "iterationEncoding",
                                        "iterationFormat"};
    return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

template <class T>
constexpr bool k_is_list = !std::is_arithmetic_v<T> && !std::is_same_v<T, std::string>;

/// The first number; 0 of what is none.
double double_of(const AttributeValue& value) {
    return std::visit(
        []<class T>(const T& one) {
            if constexpr (std::is_arithmetic_v<T>)
                return static_cast<double>(one);
            else if constexpr (k_is_list<T>)
                if constexpr (std::is_arithmetic_v<typename T::value_type>)
                    return one.empty() ? 0.0 : static_cast<double>(one[0]);
            return 0.0;
        },
        value);
}

/// Whole numbers, one or a list.
std::vector<std::uint64_t> naturals_of(const AttributeValue& value) {
    return std::visit(
        []<class T>(const T& one) {
            std::vector<std::uint64_t> all;
            if constexpr (std::is_integral_v<T>)
                all.push_back(static_cast<std::uint64_t>(one));
            else if constexpr (k_is_list<T>)
                if constexpr (std::is_integral_v<typename T::value_type>)
                    all.assign(one.begin(), one.end());
            return all;
        },
        value);
}

}  // namespace

Place place_of(const std::string& path, const std::string& meshes, const std::string& particles) {
    Place place;
    place.name = path;
    // Without a slash in front are "__openPMD_internal/...", "__is_boolean__/..." and the like.
    if (!enter(place.name, "/") || place.name.empty()) return place;
    place.kind = Place::Kind::file;
    if (!enter(place.name, "data/")) return place;
    place.kind = Place::Kind::iteration;
    place.iteration = enter_number(place.name);
    if (enter(place.name, meshes)) {
        place.kind = Place::Kind::meshes;
    } else if (enter(place.name, particles)) {
        const std::size_t slash = place.name.find('/');
        place.species = place.name.substr(0, slash);
        place.name.erase(0, slash == std::string::npos ? slash : slash + 1);
        place.kind = Place::Kind::particles;
        if (slash == std::string::npos || place.name.starts_with("particlePatches/"))
            place.kind = Place::Kind::none;
    }
    return place;
}

Status OpenPmd::put(Part part, const void* values) {
    const std::string path = part.variable;
    const Place place = place_of(path, meshes_, particles_);
    if (is_patch(path)) return {};
    if (place.kind != Place::Kind::meshes && place.kind != Place::Kind::particles)
        return steps_.refuse(
            fmt::format("variable '{}' lies neither in '{}' nor in '{}', where openPMD "
                        "has meshes and particles",
                        path, meshes_, particles_));
    if (place.iteration) {
        if (iteration_ && iteration_ != place.iteration)
            return steps_.refuse(
                fmt::format("variable '{}' follows some of iteration {} in one step; "
                            "close each iteration before the next",
                            path, *iteration_));
        iteration_ = place.iteration;
    }
    part.variable = place.name;
    if (place.kind == Place::Kind::particles) {
        if (part.shape.rank() != 1)
            return steps_.refuse(fmt::format("variable '{}' has {} axes; particles have one", path,
                                             part.shape.rank()));
        part.variable = place.species + "/" + place.name;
        part.species = place.species;
    }
    put_.insert(part.variable);
    return steps_.put(part, values);
}

void OpenPmd::end(const std::map<std::string, AttributeValue>& attributes,
                  const std::map<std::string, DType>& types) {
    When when;
    std::optional<std::uint64_t> number = iteration_;
    if (const auto snapshot = attributes.find("/data/snapshot"); snapshot != attributes.end())
        if (const auto all = naturals_of(snapshot->second); !number && all.size() == 1)
            number = all[0];
    // A rank that puts nothing knows it from what it says: iterations count up.
    if (!number)
        for (const auto& [path, value] : attributes) {
            const auto of = place_of(path, meshes_, particles_).iteration;
            if (of && *of >= std::max(number.value_or(0), steps_.number())) number = of;
        }
    when.number = number.value_or(0);
    for (const auto& [path, value] : attributes) {
        const Place place = place_of(path, meshes_, particles_);
        if (place.iteration && place.iteration != number) continue;
        const std::string base = path.substr(0, path.rfind('/'));
        const auto constant = attributes.find(base + "/value");
        const auto shape = attributes.find(base + "/shape");
        if (constant == attributes.end() || shape == attributes.end()) {
            say(place, value, when);
        } else if (path == constant->first) {
            const auto type = types.find(path);
            const DType dtype = type == types.end() ? float64 : type->second;
            if (Status s = say_constant(place, value, shape->second, dtype); !s.ok())
                (void)steps_.refuse(s.message());
        } else if (path != shape->first) {
            say(place, value, when);
        }
    }
    if (number) steps_.say_when(when);
    iteration_.reset();
    put_.clear();
}

void OpenPmd::say(const Place& place, const AttributeValue& value, When& when) {
    const std::size_t slash = place.name.rfind('/');
    const bool is_below = slash != std::string::npos;
    const std::string object = is_below ? place.name.substr(0, slash) : "";
    const std::string name = is_below ? place.name.substr(slash + 1) : place.name;
    switch (place.kind) {
        case Place::Kind::none:
            break;
        case Place::Kind::file:
            if (!is_of_the_writer(name)) steps_.set_attribute(Of::variable, "", place.name, value);
            break;
        case Place::Kind::iteration:
            if (place.name == "time")
                when.time = double_of(value);
            else if (place.name == "dt")
                when.dt = double_of(value);
            else if (place.name == "timeUnitSI")
                when.unit_si = double_of(value);
            else if (place.name != "snapshot")
                steps_.set_attribute(Of::iteration, "", place.name, value);
            break;
        case Place::Kind::meshes:
            steps_.set_attribute(is_below ? Of::record : Of::meshes, object, name, value);
            break;
        case Place::Kind::particles:
            if (is_below)
                steps_.set_attribute(Of::record, place.species + "/" + object, name, value);
            else
                steps_.set_attribute(Of::species, place.species, name, value);
            break;
    }
}

// A mesh has its constant as what readers find where nobody has put a value; one is put, so that it
// is in the dump.
Status OpenPmd::say_constant(const Place& place, const AttributeValue& value,
                             const AttributeValue& shape, DType dtype) {
    const std::string name = place.name.substr(0, place.name.rfind('/'));
    const std::vector<std::uint64_t> extents = naturals_of(shape);
    const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
    if (place.kind == Place::Kind::particles) {
        const std::string variable = place.species + "/" + name;
        if (put_.contains(variable)) return {};  // was said in an earlier step
        if (!is_empty) {
            steps_.say_constant(variable, double_of(value));
            return {};
        }
        // openPMD-api says so that there are no particles yet.
        Part none{variable, dtype, Shape::filled(1, 0), {{0}, {0}}};
        none.species = place.species;
        return steps_.put(none, nullptr);
    }
    if (place.kind != Place::Kind::meshes || steps_.rank() != 0 || is_empty) return {};
    if (extents.empty() || extents.size() > static_cast<std::size_t>(k_max_rank))
        return invalid(
            fmt::format("constant '{}' has {} axes; 1 to 4 can be written", name, extents.size()));
    if (put_.contains(name)) return {};
    Part part{name, float64, Shape(std::span(extents)), {}};
    part.box.offset = Shape::filled(part.shape.rank(), 0);
    part.box.extent = Shape::filled(part.shape.rank(), 1);
    part.constant = double_of(value);
    return steps_.put(part, &*part.constant);
}

}  // namespace caesura::adios
