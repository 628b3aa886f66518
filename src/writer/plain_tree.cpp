#include "writer/plain_tree.hpp"

#include <algorithm>

#include "store/dump_path.hpp"
#include "writer/user_attributes.hpp"

namespace caesura::writer {
namespace {

using Kind = AttributeOwner::Kind;
using store::Attribute;

/// Those that say something, and what was said of it since. @param name  with its species.
Attributes attributes_of_record(const std::string& name, const RecordOptions& options,
                                const DumpMetadata& said) {
    Attributes attributes;
    const auto& powers = options.unit_dimension;
    if (options.unit_si != 1.0) attributes.push_back({"unitSI", options.unit_si});
    if (std::any_of(powers.begin(), powers.end(), [](double power) { return power != 0.0; }))
        attributes.push_back({"unitDimension", std::vector<double>(powers.begin(), powers.end())});
    if (options.time_offset != 0.0) attributes.push_back({"timeOffset", options.time_offset});
    if (options.macro_weighted) attributes.push_back({"macroWeighted", std::uint32_t{1}});
    if (options.weighting_power != 0.0)
        attributes.push_back({"weightingPower", options.weighting_power});
    for (const Attribute& one : options.attributes) set_attribute(attributes, one.name, one.value);
    for (const Kind kind : {Kind::record, Kind::field})
        for (const auto& [key, value] : said.of(particle_object(kind, name)))
            set_attribute(attributes, key, value);
    return attributes;
}

/// HDF5 has no chunks in a dataset of nothing, and needs none for one value.
store::GroupSpec as_group(std::string path, Attributes attributes, std::uint64_t count) {
    attributes.push_back({"shape", std::vector<std::uint64_t>{count}});
    return {std::move(path), std::move(attributes)};
}

/// Of a field: what was said of its record and of itself.
Attributes said_of(const std::string& field, const DumpMetadata& said) {
    Attributes attributes;
    const AttributedObject record = record_of(field), own{Kind::field, field};
    for (const auto& [name, value] : said.of(record)) set_attribute(attributes, name, value);
    if (record != own)
        for (const auto& [name, value] : said.of(own)) set_attribute(attributes, name, value);
    return attributes;
}

Attributes time_of(const DumpTime& time) {
    return {{"time", time.time}, {"dt", time.dt}, {"timeUnitSI", time.unit_si}};
}

}  // namespace

void PlainTree::describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                         std::span<const SpeciesState> species, const DumpMetadata& said) const {
    manifest.root = made_by(said);
    manifest.root.push_back({store::DumpPath::k_layout, layout_.text()});
    if (has_dumps_) say_root_again(manifest, said);
    const std::uint64_t n = manifest.iteration;
    Attributes of_dump = time_of(said.time);
    for (const auto& [name, value] : said.of({Kind::iteration}))
        set_attribute(of_dump, name, value);
    const std::string group = layout_.dump_group(n);
    if (!group.empty()) manifest.groups.push_back({group, std::exchange(of_dump, {})});
    std::vector<std::uint64_t> counts(species.size());
    std::vector<bool> is_there(species.size());
    for (const DumpedField& dumped : fields) {
        const FieldState& field = dumped.field;
        Attributes attributes = of_dump;
        if (field.particles)
            attributes.push_back(
                {store::DumpPath::k_species, species[field.particles->species].name});
        const Attributes own =
            field.particles ? attributes_of_record(field.name, field.particles->options, said)
                            : said_of(field.name, said);
        for (const Attribute& one : own) set_attribute(attributes, one.name, one.value);
        for (Attribute& one : told_of(dumped)) attributes.push_back(std::move(one));
        if (field.particles) {
            counts[field.particles->species] = field.shape[0];
            is_there[field.particles->species] = true;
        }
        std::string path = layout_.path(n, field.name);
        if (field.is_put_empty()) {
            manifest.groups.push_back(as_group(std::move(path), std::move(attributes), 0));
            manifest.groups.back().zero_of = field.dtype;
            continue;
        }
        store::DatasetSpec dataset;
        dataset.path = std::move(path);
        dataset.dtype = field.dtype;
        dataset.shape = field.shape;
        dataset.chunk = field.layout->chunk;
        dataset.pipeline.assign(dumped.pipeline.begin(), dumped.pipeline.end());
        dataset.attributes = std::move(attributes);
        say_coverage(dataset, field);
        manifest.datasets.push_back(std::move(dataset));
    }
    for (std::size_t i = 0; i < species.size(); ++i) {
        if (!is_there[i]) continue;
        const SpeciesState& one = species[i];
        Attributes of_species = one.options.attributes;
        for (const auto& [key, value] : said.of({Kind::species, one.name}))
            set_attribute(of_species, key, value);
        if (!of_species.empty())
            manifest.groups.push_back({layout_.path(n, one.name), std::move(of_species)});
        for (const SpeciesState::Constant& constant : one.constants) {
            Attributes attributes = of_dump;
            attributes.push_back({store::DumpPath::k_species, one.name});
            for (const Attribute& said_of_it :
                 attributes_of_record(one.name + "/" + constant.name, constant.options, said))
                set_attribute(attributes, said_of_it.name, said_of_it.value);
            attributes.push_back({"value", constant.value});
            manifest.groups.push_back(as_group(layout_.path(n, one.name + "/" + constant.name),
                                               std::move(attributes), counts[i]));
        }
    }
}

std::string PlainTree::cannot_have(Kind kind, const std::string& name) const {
    if (kind == Kind::meshes) return "of the group of meshes, which only openPMD's layout has";
    if (!layout_.dump_group(0).empty()) return {};
    if (kind == Kind::iteration)
        return "of the iteration, which has no group of its own in layout '" + layout_.text() + "'";
    const bool of_dataset = kind == Kind::field || kind == Kind::record;
    const Attributes of_dump = time_of({});
    if (of_dataset && std::any_of(of_dump.begin(), of_dump.end(),
                                  [&](const Attribute& one) { return one.name == name; }))
        return "of a field, which has the dump's '" + name + "' in layout '" + layout_.text() +
               "': begin_dump() is given it; use another name";
    return {};
}

}  // namespace caesura::writer
