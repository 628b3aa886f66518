// Species as openPMD wants them. What has no values of its own, constants and the records of a dump
// without particles, is a group with `value` and `shape`: HDF5 has no chunks in a dataset of none.
#include <fmt/format.h>

#include <algorithm>

#include "writer/field_state.hpp"
#include "writer/openpmd.hpp"
#include "writer/user_attributes.hpp"

namespace caesura::writer {
namespace {

using store::Attribute;

store::GroupSpec& group_at(store::DumpManifest& manifest, const std::string& path) {
    const auto found = std::find_if(manifest.groups.begin(), manifest.groups.end(),
                                    [&](const store::GroupSpec& one) { return one.path == path; });
    if (found != manifest.groups.end()) return *found;
    return manifest.groups.emplace_back(store::GroupSpec{path, {}});
}

/// The attributes of a component, with those of its record if it is a scalar one; else these go to
/// the record's group.
std::vector<Attribute> describe_component(store::DumpManifest& manifest,
                                          const std::string& species_path, const std::string& name,
                                          const RecordOptions& options, const DumpMetadata& said) {
    using Kind = AttributeOwner::Kind;
    const std::string full = species_path.substr(species_path.rfind('/') + 1) + "/" + name;
    const std::vector<Attribute> of_record = {
        {"unitDimension",
         std::vector<double>(options.unit_dimension.begin(), options.unit_dimension.end())},
        {"timeOffset", options.time_offset},
        {"macroWeighted", std::uint32_t{options.macro_weighted ? 1u : 0u}},
        {"weightingPower", options.weighting_power},
    };
    std::vector<Attribute> attributes = {{"unitSI", options.unit_si}};
    const std::size_t slash = name.find('/');
    auto& target = slash == std::string::npos
                       ? attributes
                       : group_at(manifest, species_path + "/" + name.substr(0, slash)).attributes;
    if (&target == &attributes || target.empty())
        target.insert(target.end(), of_record.begin(), of_record.end());
    for (const auto& [key, value] : said.of(particle_object(Kind::record, full)))
        set_attribute(target, key, value);
    for (const Attribute& attribute : options.attributes)
        set_attribute(attributes, attribute.name, attribute.value);
    for (const auto& [key, value] : said.of(particle_object(Kind::field, full)))
        set_attribute(attributes, key, value);
    return attributes;
}

void add_constant(store::DumpManifest& manifest, const std::string& species_path,
                  const std::string& name, double value, std::uint64_t count,
                  const RecordOptions& options, const DumpMetadata& said) {
    store::GroupSpec group{species_path + "/" + name,
                           describe_component(manifest, species_path, name, options, said)};
    group.attributes.push_back({"value", value});
    group.attributes.push_back({"shape", std::vector<std::uint64_t>{count}});
    manifest.groups.push_back(std::move(group));
}

/// The components of the record "position", whether they are put or constant.
std::vector<std::string> axes_of(const SpeciesState& species,
                                 std::span<const FieldState* const> records) {
    std::vector<std::string> axes;
    const auto look = [&](const std::string& name) {
        if (name == "position" || name.starts_with("position/")) axes.push_back(name.substr(8));
    };
    for (const FieldState* const record : records)
        look(record->name.substr(species.name.size() + 1));
    for (const SpeciesState::Constant& constant : species.constants) look(constant.name);
    return axes;
}

bool has(const SpeciesState& species, std::span<const FieldState* const> records,
         const std::string& name) {
    const auto is_it = [&](const std::string& other) {
        return other == name || other.starts_with(name + "/");
    };
    return std::any_of(records.begin(), records.end(),
                       [&](const FieldState* const record) {
                           return is_it(record->name.substr(species.name.size() + 1));
                       }) ||
           std::any_of(species.constants.begin(), species.constants.end(),
                       [&](const auto& constant) { return is_it(constant.name); });
}

std::string particles_path(const store::DumpManifest& manifest) {
    return fmt::format("/data/{}/particles", manifest.iteration);
}

}  // namespace

void add_record(store::DumpManifest& manifest, const SpeciesState& species,
                const FieldState& record, std::span<const FilterSpec> pipeline,
                const DumpMetadata& said, std::vector<Attribute> extra) {
    const std::string species_path = particles_path(manifest) + "/" + species.name;
    const std::string name = record.name.substr(species.name.size() + 1);
    const RecordOptions& options = record.particles->options;
    std::vector<Attribute> attributes =
        describe_component(manifest, species_path, name, options, said);
    for (Attribute& attribute : extra) attributes.push_back(std::move(attribute));
    if (record.shape[0] == 0) {
        attributes.push_back({"shape", std::vector<std::uint64_t>{0}});
        manifest.groups.push_back({species_path + "/" + name, std::move(attributes), record.dtype});
        return;
    }
    store::DatasetSpec dataset;
    dataset.path = species_path + "/" + name;
    dataset.dtype = record.dtype;
    dataset.shape = record.shape;
    dataset.chunk = record.layout->chunk;
    dataset.pipeline.assign(pipeline.begin(), pipeline.end());
    dataset.attributes = std::move(attributes);
    manifest.datasets.push_back(std::move(dataset));
}

void add_species(store::DumpManifest& manifest, const SpeciesState& species,
                 std::span<const FieldState* const> records, const DumpMetadata& said) {
    const std::string path = particles_path(manifest) + "/" + species.name;
    const std::uint64_t count = records[0]->shape[0];
    for (const Attribute& attribute : species.options.attributes)
        set_attribute(group_at(manifest, path).attributes, attribute.name, attribute.value);
    for (const auto& [key, value] : said.of({AttributeOwner::Kind::species, species.name}))
        set_attribute(group_at(manifest, path).attributes, key, value);
    for (const SpeciesState::Constant& constant : species.constants)
        add_constant(manifest, path, constant.name, constant.value, count, constant.options, said);
    if (has(species, records, "positionOffset")) return;
    RecordOptions length;
    length.unit_dimension[0] = 1.0;
    for (const std::string& axis : axes_of(species, records))
        add_constant(manifest, path, "positionOffset" + axis, 0.0, count, length, said);
}

void add_particles_group(store::DumpManifest& manifest) {
    manifest.root.push_back({"particlesPath", std::string("particles/")});
    manifest.groups.push_back({particles_path(manifest), {}});
}

}  // namespace caesura::writer
