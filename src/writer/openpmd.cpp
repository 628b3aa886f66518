#include "writer/openpmd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "store/manifest.hpp"
#include "writer/user_attributes.hpp"

namespace caesura::writer {
namespace {

using store::Attribute;

std::vector<std::string> axis_labels(const Shape& shape, const FieldOptions& options) {
    if (!options.axis_labels.empty()) return options.axis_labels;
    static const char* const names[] = {"w", "z", "y", "x"};
    std::vector<std::string> labels;
    for (int axis = k_max_rank - shape.rank(); axis < k_max_rank; ++axis)
        labels.emplace_back(names[axis]);
    return labels;
}

std::vector<double> per_axis(const std::vector<double>& given, const Shape& shape, double value) {
    return given.empty() ? std::vector<double>(static_cast<std::size_t>(shape.rank()), value)
                         : given;
}

// What openPMD asks of a mesh record, scalar or vector.
std::vector<Attribute> record_attributes(const Shape& shape, const FieldOptions& options) {
    return {
        {"geometry", std::string("cartesian")},
        {"dataOrder", std::string("C")},
        {"axisLabels", axis_labels(shape, options)},
        {"gridSpacing", per_axis(options.grid_spacing, shape, 1.0)},
        {"gridGlobalOffset", per_axis(options.grid_offset, shape, 0.0)},
        {"gridUnitSI", options.grid_unit_si},
        {"unitDimension",
         std::vector<double>(options.unit_dimension.begin(), options.unit_dimension.end())},
        {"timeOffset", 0.0},
    };
}

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S +0000", &utc);
    return text;
}

}  // namespace

std::vector<Attribute> root_attributes(const WriterOptions& options) {
    std::vector<Attribute> attributes = {
        {"openPMD", std::string("1.1.0")},
        {"openPMDextension", std::uint64_t{0}},
        {"basePath", std::string("/data/%T/")},
        {"meshesPath", std::string("meshes/")},
        {"iterationEncoding", std::string("groupBased")},
        {"iterationFormat", std::string("/data/%T/")},
        {"software", options.software},
        {"softwareVersion", std::string("0.1.0")},
        {"date", now_text()},
    };
    if (!options.author.empty()) attributes.push_back({"author", options.author});
    for (const auto& [name, value] : options.root_attributes)
        set_attribute(attributes, {name, value});
    return attributes;
}

store::GroupSpec iteration_group(std::uint64_t iteration, const DumpTime& time) {
    return {fmt::format("/data/{}", iteration),
            {{"time", time.time}, {"dt", time.dt}, {"timeUnitSI", time.unit_si}}};
}

void add_field(store::DumpManifest& manifest, const std::string& name, DType dtype,
               const Shape& shape, const Shape& chunk, std::span<const FilterSpec> pipeline,
               const FieldOptions& options, std::vector<Attribute> extra) {
    const std::string meshes = fmt::format("/data/{}/meshes", manifest.iteration);
    store::DatasetSpec dataset;
    dataset.path = meshes + "/" + name;
    dataset.dtype = dtype;
    dataset.shape = shape;
    dataset.chunk = chunk;
    dataset.pipeline.assign(pipeline.begin(), pipeline.end());
    dataset.attributes = {
        {"unitSI", options.unit_si},
        {"position", std::vector<double>(static_cast<std::size_t>(shape.rank()), 0.0)},
    };
    std::vector<Attribute>* of_record = &dataset.attributes;
    const auto record = record_attributes(shape, options);
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) {
        dataset.attributes.insert(dataset.attributes.end(), record.begin(), record.end());
    } else {
        const std::string path = meshes + "/" + name.substr(0, slash);
        auto group = std::find_if(manifest.groups.begin(), manifest.groups.end(),
                                  [&](const auto& g) { return g.path == path; });
        if (group == manifest.groups.end()) group = manifest.groups.insert(group, {path, record});
        of_record = &group->attributes;
    }
    for (Attribute& attribute : extra) dataset.attributes.push_back(std::move(attribute));
    for (const Attribute& attribute : options.attributes)
        set_attribute(is_of_record(attribute.name) ? *of_record : dataset.attributes, attribute);
    manifest.datasets.push_back(std::move(dataset));
}

Status check_field_name(const std::string& name) {
    const auto slashes = std::count(name.begin(), name.end(), '/');
    const bool bad_char = std::any_of(name.begin(), name.end(), [](unsigned char c) {
        return !(std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/');
    });
    if (name.empty() || name.front() == '/' || name.back() == '/' || slashes > 1 || bad_char ||
        name == "." || name == "..")
        return {StatusCode::invalid_argument,
                fmt::format("field name '{}': use letters, digits, '_', '-', '.'; one '/' makes a "
                            "component of a vector record (\"velocity/x\")",
                            name)};
    return {};
}

Status check_field_options(const std::string& name, const Shape& shape,
                           const FieldOptions& options) {
    const auto rank = static_cast<std::size_t>(shape.rank());
    const auto wrong = [&](std::size_t n) { return n != 0 && n != rank; };
    if (wrong(options.axis_labels.size()) || wrong(options.grid_spacing.size()) ||
        wrong(options.grid_offset.size()))
        return {StatusCode::invalid_argument,
                fmt::format("field '{}' has {} axes, but axis_labels has {} entries, grid_spacing "
                            "{} and grid_offset {}; give one per axis or none",
                            name, rank, options.axis_labels.size(), options.grid_spacing.size(),
                            options.grid_offset.size())};
    return {};
}

}  // namespace caesura::writer
