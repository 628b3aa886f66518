#include "writer/openpmd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "store/manifest.hpp"
#include "writer/user_attributes.hpp"

namespace caesura::writer {
namespace {

using store::Attribute;
using store::AttributeValue;

// z y x, the slowest first; without modes, which have no label.
std::vector<std::string> axis_labels(int axes, const AttributeMap& said) {
    const auto is = [&](const char* name, const char* value) {
        const auto found = said.find(name);
        return found != said.end() && found->second == AttributeValue(std::string(value));
    };
    std::vector<std::string> labels;
    if (is("geometry", "thetaMode") && axes == 2) {
        labels = {"r", "z"};
    } else {
        static const char* const names[] = {"w", "z", "y", "x"};
        for (int axis = k_max_rank - axes; axis < k_max_rank; ++axis)
            labels.emplace_back(names[axis]);
    }
    if (is("dataOrder", "F")) std::reverse(labels.begin(), labels.end());
    return labels;
}

// What openPMD asks of a mesh record, scalar or vector.
Attributes record_defaults(int axes, const AttributeMap& said) {
    const auto n = static_cast<std::size_t>(axes);
    return {
        {"geometry", std::string("cartesian")},
        {"dataOrder", std::string("C")},
        {"axisLabels", axis_labels(axes, said)},
        {"gridSpacing", std::vector<double>(n, 1.0)},
        {"gridGlobalOffset", std::vector<double>(n, 0.0)},
        {"gridUnitSI", 1.0},
        {"unitDimension", std::vector<double>(7, 0.0)},
        {"timeOffset", 0.0},
    };
}

void overlay(Attributes& attributes, const AttributeMap& said) {
    for (const auto& [name, value] : said) set_attribute(attributes, name, value);
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

Attributes made_by(const DumpMetadata& said) {
    const AttributeMap of_file = said.of({AttributeOwner::Kind::file});
    Attributes root = {{"software", std::string("caesura")}, {"date", now_text()}};
    // Another software's version is not ours.
    if (of_file.find("software") == of_file.end())
        root.push_back({"softwareVersion", std::string("0.1.0")});
    overlay(root, of_file);
    return root;
}

void add_groups(store::DumpManifest& manifest, const DumpMetadata& said,
                const std::string& file_format) {
    using Kind = AttributeOwner::Kind;
    manifest.root = {
        {"openPMD", std::string("1.1.0")},
        {"openPMDextension", std::uint32_t{0}},
        {"basePath", std::string("/data/%T/")},
        {"meshesPath", std::string("meshes/")},
        {"iterationEncoding", std::string(file_format.empty() ? "groupBased" : "fileBased")},
        {"iterationFormat", file_format.empty() ? std::string("/data/%T/") : file_format},
    };
    for (Attribute& attribute : made_by(said)) manifest.root.push_back(std::move(attribute));
    const std::string iteration = fmt::format("/data/{}", manifest.iteration);
    manifest.groups = {
        {iteration,
         {{"time", said.time.time}, {"dt", said.time.dt}, {"timeUnitSI", said.time.unit_si}}}};
    overlay(manifest.groups.back().attributes, said.of({Kind::iteration}));
    Attributes of_meshes;
    overlay(of_meshes, said.of({Kind::meshes}));
    if (!of_meshes.empty()) manifest.groups.push_back({iteration + "/meshes", of_meshes});
}

void add_field(store::DumpManifest& manifest, const std::string& name, DType dtype,
               const Shape& shape, const Shape& chunk, std::span<const FilterSpec> pipeline,
               const DumpMetadata& said, Attributes extra) {
    const std::string meshes = fmt::format("/data/{}/meshes", manifest.iteration);
    store::DatasetSpec dataset;
    dataset.path = meshes + "/" + name;
    dataset.dtype = dtype;
    dataset.shape = shape;
    dataset.chunk = chunk;
    dataset.pipeline.assign(pipeline.begin(), pipeline.end());
    const AttributedObject record = record_of(name), own{AttributeOwner::Kind::field, name};
    const AttributeMap of_record = said.of(record);
    const int axes = grid_axes(shape.rank(), of_record);
    dataset.attributes = {
        {"unitSI", 1.0},
        {"position", std::vector<double>(static_cast<std::size_t>(axes), 0.0)},
    };
    Attributes whole = record_defaults(axes, of_record);
    if (record == own) {
        dataset.attributes.insert(dataset.attributes.end(), whole.begin(), whole.end());
    } else {
        const std::string path = meshes + "/" + record.name;
        if (std::none_of(manifest.groups.begin(), manifest.groups.end(),
                         [&](const auto& group) { return group.path == path; })) {
            overlay(whole, of_record);
            manifest.groups.push_back({path, std::move(whole)});
        }
    }
    for (Attribute& attribute : extra) dataset.attributes.push_back(std::move(attribute));
    overlay(dataset.attributes, said.of(own));
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

}  // namespace caesura::writer
