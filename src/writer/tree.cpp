#include "writer/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codec/bound/bound_map.hpp"
#include "store/manifest.hpp"
#include "writer/particle_patches.hpp"

namespace caesura::writer {
namespace {

const char* kind_name(ErrorBound::Kind kind) {
    switch (kind) {
        case ErrorBound::Kind::absolute:
            return "absolute";
        case ErrorBound::Kind::relative:
            return "relative";
        case ErrorBound::Kind::pointwise_relative:
            return "pointwise_relative";
        case ErrorBound::Kind::psnr:
            return "psnr";
        case ErrorBound::Kind::lossless:
            break;
    }
    return "lossless";
}

/// What the blocks of an application's dataset are held to, for attributes; nothing where all of it
/// is exact, or where blocks of before are held to nobody knows what. "caesura_bound" is the
/// loosest that any block has, in units of the values (of each value where it is
/// pointwise_relative).
std::vector<store::Attribute> bounds_of(const FieldState& field) {
    const std::vector<double>& loosest = field.dataset->loosest;
    if (!std::all_of(loosest.begin(), loosest.end(), [](double b) { return std::isfinite(b); }))
        return {};
    const Composition* const parts = field.composition();
    if (parts == nullptr || parts->components().size() == 1) {
        const ErrorBound& bound =
            parts == nullptr ? field.bound : parts->components().front().bound;
        const BoundMap& map = field.options.bound_map;
        const bool exact = bound.kind == ErrorBound::Kind::lossless && map.rules() == 0;
        if (exact || loosest.size() != 1) return {};
        std::vector<store::Attribute> bounds = {
            {"caesura_bound", codec::loosest_bound(map, loosest.front())},
            {"caesura_bound_kind", std::string(kind_name(bound.kind))},
            {"caesura_bound_requested", bound.value}};
        if (map.rules() > 0)
            bounds.push_back({"caesura_bound_map", codec::to_json(map, loosest.front())});
        return bounds;
    }
    std::vector<std::string> names, kinds;
    std::vector<double> requested;
    bool any = false;
    for (const Component& one : parts->components()) {
        names.push_back(one.name);
        kinds.emplace_back(kind_name(one.bound.kind));
        requested.push_back(one.bound.value);
        any = any || one.bound.kind != ErrorBound::Kind::lossless;
    }
    if (!any) return {};
    std::vector<store::Attribute> bounds = {{"caesura_components", std::move(names)},
                                            {"caesura_bound", loosest},
                                            {"caesura_bound_kind", std::move(kinds)},
                                            {"caesura_bound_requested", std::move(requested)}};
    if (parts->axis_in_file() >= 0)
        bounds.push_back({"caesura_component_axis", std::int64_t{parts->axis_in_file()}});
    return bounds;
}

}  // namespace

Status Tree::check_attributes(const std::string& who,
                              std::span<const store::Attribute> attributes) const {
    for (const store::Attribute& one : attributes)
        if (const std::string lack = cannot_have(AttributeOwner::Kind::field, one.name);
            !lack.empty())
            return {StatusCode::invalid_argument,
                    fmt::format("{}: attribute '{}' {}", who, one.name, lack)};
    return {};
}

void say_coverage(store::DatasetSpec& dataset, const FieldState& field) {
    const bool is_masked = field.options.missing.size() == 1;
    if (!field.is_partial() && !is_masked) return;
    const auto fill =
        field.is_partial() ? field.fill() : *fill_of(field.options.missing[0], field.dtype);
    if (field.is_partial()) dataset.partial_chunks = field.layout->n_touched;
    const std::size_t bytes = size_of(number_type(field.dtype));
    for (std::size_t at = 0; at < size_of(field.dtype); at += bytes)  // both parts of a complex one
        dataset.fill.insert(dataset.fill.end(), fill.begin(), fill.begin() + bytes);
}

void Tree::describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                    std::span<const SpeciesState>, const DumpMetadata&) const {
    manifest.tree = store::TreeOwner::application;  // which says all else
    for (const DumpedField& dumped : fields) {
        const FieldState& field = dumped.field;
        manifest.datasets.push_back({field.name, field.dtype, field.shape, field.dataset->chunk,
                                     field.dataset->pipeline, bounds_of(field)});
    }
}

std::vector<store::Attribute> told_of(const DumpedField& dumped) {
    const FieldState& field = dumped.field;
    std::vector<store::Attribute> told = {
        {"caesura_codec", field.codec.name},
        {"caesura_bound", codec::loosest_bound(field.options.bound_map, dumped.bound.value)},
        {"caesura_bound_kind", std::string(kind_name(field.bound.kind))},
        {"caesura_bound_requested", field.bound.value},
    };
    if (!field.particles)
        for (store::Attribute& one : missing_attributes(field.options, field.dtype))
            told.push_back(std::move(one));
    if (field.has_bound_map())
        told.push_back(
            {"caesura_bound_map", codec::to_json(field.options.bound_map, dumped.bound.value)});
    return told;
}

void say_root_again(store::DumpManifest& manifest, const DumpMetadata& said) {
    for (const auto& [name, value] : said.of({AttributeOwner::Kind::file}))
        manifest.root_set.push_back({name, value});
}

void OpenPmdTree::describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                           std::span<const SpeciesState> species, const DumpMetadata& said) const {
    add_groups(manifest, said, file_format_);
    if (has_dumps_) say_root_again(manifest, said);
    if (!species.empty()) add_particles_group(manifest);
    for (const DumpedField& dumped : fields) {
        const FieldState& field = dumped.field;
        std::vector<store::Attribute> extra = told_of(dumped);
        if (field.particles) {
            add_record(manifest, species[field.particles->species], field, dumped.pipeline, said,
                       std::move(extra));
            continue;
        }
        add_field(manifest, field.name, field.dtype, field.shape, field.layout->chunk,
                  dumped.pipeline, said, std::move(extra));
        say_coverage(manifest.datasets.back(), field);
    }
    // openPMD-api and the validator look for it in every iteration.
    const bool any_mesh = std::any_of(fields.begin(), fields.end(), [](const DumpedField& dumped) {
        return !dumped.field.particles;
    });
    if (!any_mesh && said.of({AttributeOwner::Kind::meshes}).empty())
        manifest.groups.push_back({fmt::format("/data/{}/meshes", manifest.iteration), {}});
    for (std::uint32_t number = 0; number < species.size(); ++number) {
        std::vector<const FieldState*> records;
        std::vector<const DumpedField*> described;
        for (const DumpedField& dumped : fields) {
            if (!dumped.field.particles || dumped.field.particles->species != number) continue;
            records.push_back(&dumped.field);
            described.push_back(&dumped);
        }
        if (records.empty()) continue;
        add_species(manifest, species[number], records, said);
        add_patches(manifest, species[number], described);
    }
}

}  // namespace caesura::writer
