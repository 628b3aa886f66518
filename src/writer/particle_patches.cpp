#include "writer/particle_patches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/short_float.hpp"

namespace caesura::writer {
namespace {

using Range = Composition::Range;

constexpr double k_infinity = std::numeric_limits<double>::infinity();

std::string_view name_in_species(const FieldState& record) {
    return std::string_view(record.name).substr(record.name.find('/') + 1);
}

bool is_of(std::string_view component, std::string_view record) {
    return component == record ||
           (component.starts_with(record) && component[record.size()] == '/');
}

// Several at a time, so that the compiler can use vectors: NaN and infinities compare false.
template <class T>
Range range_of(const T* values, std::uint64_t count) {
    constexpr std::uint64_t k_lanes = 16;
    std::array<T, k_lanes> least, most;
    least.fill(std::numeric_limits<T>::max());
    most.fill(std::numeric_limits<T>::lowest());
    bool any = false;
    const auto look = [&](T value, std::uint64_t lane) {
        const bool finite =
            value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max();
        least[lane] = (finite & (value < least[lane])) ? value : least[lane];
        most[lane] = (finite & (value > most[lane])) ? value : most[lane];
    };
    std::uint64_t i = 0;
    for (; i + k_lanes <= count; i += k_lanes)
        for (std::uint64_t lane = 0; lane < k_lanes; ++lane) look(values[i + lane], lane);
    for (; i < count; ++i) look(values[i], 0);
    const T low = *std::min_element(least.begin(), least.end());
    const T high = *std::max_element(most.begin(), most.end());
    any = low <= high;
    return any ? Range{static_cast<double>(low), static_cast<double>(high)} : Range{};
}

template <class T>
Range range_of(const std::byte* values, std::uint64_t count) {
    return range_of(reinterpret_cast<const T*>(values), count);
}

/// With what the codec may have done to the values.
Range loosened(const Range& range, const ErrorBound& bound) {
    if (range.min > range.max || bound.kind == ErrorBound::Kind::lossless) return range;
    const auto by = [&](double value) {
        return bound.kind == ErrorBound::Kind::pointwise_relative ? bound.value * std::abs(value)
                                                                  : bound.value;
    };
    return {std::nextafter(range.min - by(range.min), -k_infinity),
            std::nextafter(range.max + by(range.max), k_infinity)};
}

/// One component of a record, by rank.
struct Places {
    std::vector<Range> ranges;  ///< by rank; of a constant one for all
    double unit_si = 1.0;
    Range of(std::size_t rank) const { return ranges.size() == 1 ? ranges[0] : ranges.at(rank); }
};

struct Found {
    std::map<std::string, Places, std::less<>> places;  ///< by the record's name in the species
    std::vector<std::string> axes;                      ///< "/x", or "" of a record without
    std::array<double, 7> unit_dimension{};
    double time_offset = 0.0;
};

Found find_places(const SpeciesState& species, std::span<const DumpedField* const> records) {
    Found found;
    const auto note = [&](std::string_view name, Places places, const RecordOptions& options) {
        places.unit_si = options.unit_si;
        found.places.emplace(name, std::move(places));
        if (!is_of(name, "position")) return;
        found.axes.emplace_back(name.substr(std::string_view("position").size()));
        found.unit_dimension = options.unit_dimension;
        found.time_offset = options.time_offset;
    };
    for (const DumpedField* const record : records) {
        if (!says_where(record->field)) continue;
        Places places;
        for (const Range& range : record->places)
            places.ranges.push_back(loosened(range, record->bound));
        note(name_in_species(record->field), std::move(places), record->field.particles->options);
    }
    for (const SpeciesState::Constant& one : species.constants)
        if (is_of(one.name, "position") || is_of(one.name, "positionOffset"))
            note(one.name, {{{one.value, one.value}}, 1.0}, one.options);
    std::sort(found.axes.begin(), found.axes.end());
    return found;
}

/// Where a rank's particles are along an axis, in units of the position.
Range placed_along(const Found& found, const std::string& axis, std::size_t rank) {
    const Places& position = found.places.find("position" + axis)->second;
    Range range = position.of(rank);
    const auto offset = found.places.find("positionOffset" + axis);
    if (offset == found.places.end()) return range;
    const double unit = offset->second.unit_si / position.unit_si;
    const Range by = offset->second.of(rank);
    range.min += std::min(by.min * unit, by.max * unit);
    range.max += std::max(by.min * unit, by.max * unit);
    return range;
}

/// openPMD's extent: its end lies beyond all particles.
double extent_of(const Range& range) {
    const double end = std::nextafter(range.max, k_infinity), extent = end - range.min;
    return range.min + extent > range.max ? extent : extent + (end - range.max);
}

}  // namespace

bool is_position(const FieldState& field) {
    return field.particles && is_of(name_in_species(field), "position");
}

bool says_where(const FieldState& field) {
    if (!field.particles) return false;
    const std::string_view name = name_in_species(field);
    return is_of(name, "position") || is_of(name, "positionOffset");
}

Range finite_range(const std::byte* values, std::uint64_t count, DType dtype) {
    switch (dtype) {
        case DType::float32:
            return range_of<float>(values, count);
        case DType::float64:
            return range_of<double>(values, count);
        case DType::int8:
            return range_of<std::int8_t>(values, count);
        case DType::int16:
            return range_of<std::int16_t>(values, count);
        case DType::int32:
            return range_of<std::int32_t>(values, count);
        case DType::int64:
            return range_of<std::int64_t>(values, count);
        case DType::uint8:
            return range_of<std::uint8_t>(values, count);
        case DType::uint16:
            return range_of<std::uint16_t>(values, count);
        case DType::uint32:
            return range_of<std::uint32_t>(values, count);
        case DType::uint64:
            return range_of<std::uint64_t>(values, count);
        case DType::float16:
        case DType::bfloat16: {
            std::vector<float> wide(count);
            base::widen({values, 2 * count}, dtype, reinterpret_cast<std::byte*>(wide.data()));
            return range_of<float>(reinterpret_cast<const std::byte*>(wide.data()), count);
        }
        case DType::boolean:
        case DType::complex64:
        case DType::complex128:
            break;  // no places
    }
    return {};
}

void add_patches(store::DumpManifest& manifest, const SpeciesState& species,
                 std::span<const DumpedField* const> records) {
    const Found found = find_places(species, records);
    const FieldState& first = records[0]->field;
    if (found.axes.empty() || first.shape[0] == 0) return;
    std::map<int, std::uint64_t> counts;  // by rank
    for (const RankBox& one : first.layout->boxes) counts[one.rank] += one.box.extent[0];
    std::vector<std::uint64_t> number, begin;
    std::uint64_t end = 0;
    for (const auto& [rank, count] : counts) {
        number.push_back(count);
        begin.push_back(end);
        end += count;
    }
    const std::string path =
        fmt::format("/data/{}/particles/{}/particlePatches", manifest.iteration, species.name);
    const store::Attribute no_unit{"unitSI", 1.0};
    const std::vector<store::Attribute> of_counts = {
        no_unit, {"unitDimension", std::vector<double>(7, 0.0)}, {"timeOffset", 0.0}};
    manifest.arrays.push_back({path + "/numParticles", std::move(number), of_counts});
    manifest.arrays.push_back({path + "/numParticlesOffset", std::move(begin), of_counts});
    const std::vector<store::Attribute> of_record = {
        {"unitDimension",
         std::vector<double>(found.unit_dimension.begin(), found.unit_dimension.end())},
        {"timeOffset", found.time_offset}};
    const bool scalar = found.axes[0].empty();
    if (!scalar)
        for (const char* const record : {"/offset", "/extent"})
            manifest.groups.push_back({path + record, of_record});
    for (const std::string& axis : found.axes) {
        std::vector<double> low, extent;
        for (const auto& [rank, count] : counts) {
            const Range range = placed_along(found, axis, static_cast<std::size_t>(rank));
            const bool known = range.min <= range.max;
            low.push_back(known ? range.min : std::nan(""));
            extent.push_back(known ? extent_of(range) : std::nan(""));
        }
        std::vector<store::Attribute> attributes = {
            {"unitSI", found.places.find("position" + axis)->second.unit_si}};
        if (scalar) attributes.insert(attributes.end(), of_record.begin(), of_record.end());
        manifest.arrays.push_back({path + "/offset" + axis, std::move(low), attributes});
        manifest.arrays.push_back({path + "/extent" + axis, std::move(extent), attributes});
    }
}

}  // namespace caesura::writer
