// The Writer's calls for particles; a record's component is a field whose shape each dump says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "writer/impl.hpp"
#include "writer/trial_codec.hpp"
#include "writer/user_attributes.hpp"

namespace caesura {
namespace {

using writer::FieldState;
using writer::SpeciesState;

Status invalid(const std::string& who, std::string_view what) {
    return {StatusCode::invalid_argument, fmt::format("{}: {}", who, what)};
}

bool clash(const std::string& a, const std::string& b) {
    return a == b || a.starts_with(b + "/") || b.starts_with(a + "/");
}

/// Is there room for such a record in the species?
Status check_record_name(const writer::Fields& fields, Species species, const std::string& name) {
    if (species.index >= fields.species.size())
        return {StatusCode::invalid_argument,
                fmt::format("record '{}': species handle {} was not defined by this writer", name,
                            species.index)};
    const SpeciesState& state = fields.species[species.index];
    const std::string who = fmt::format("record '{}/{}'", state.name, name);
    if (Status status = writer::check_field_name(name); !status.ok())
        return status.with_context(who);
    if (clash(name, "particlePatches")) return invalid(who, "the name is openPMD's for patches");
    const auto is_taken = [&](const FieldState& other) {
        return other.particles && other.particles->species == species.index &&
               clash(other.name, state.name + "/" + name);
    };
    const auto is_constant = [&](const SpeciesState::Constant& other) {
        return clash(other.name, name);
    };
    if (std::any_of(fields.begin(), fields.end(), is_taken) ||
        std::any_of(state.constants.begin(), state.constants.end(), is_constant))
        return invalid(who, "is already defined (or has, or would have, components)");
    return {};
}

/// As Writer::set_attribute has it.
Status check(const writer::AttributedObject& object, std::vector<store::Attribute>& attributes,
             const writer::Tree& tree) {
    if (object.kind == AttributeOwner::Kind::field)
        if (Status may = tree.check_attributes(writer::to_string(object), attributes); !may.ok())
            return may;
    for (store::Attribute& attribute : attributes)
        if (Status status =
                writer::check_particle_attribute(object, attribute.name, attribute.value);
            !status.ok())
            return status;
    return {};
}

writer::AttributedObject of_component(const std::string& name) {
    return writer::particle_object(AttributeOwner::Kind::field, name);
}

/// What all components of a record say alike.
Status check_same_record(const writer::Fields& fields, Species species, const std::string& name,
                         const RecordOptions& options) {
    const SpeciesState& state = fields.species[species.index];
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return {};
    const std::string record = name.substr(0, slash + 1);
    const auto differs = [&](const RecordOptions& other) {
        return options.unit_dimension != other.unit_dimension ||
               options.time_offset != other.time_offset ||
               options.macro_weighted != other.macro_weighted ||
               options.weighting_power != other.weighting_power;
    };
    const bool of_record = std::any_of(fields.begin(), fields.end(), [&](const FieldState& other) {
        return other.particles && other.particles->species == species.index &&
               other.name.starts_with(state.name + "/" + record) &&
               differs(other.particles->options);
    });
    const bool of_constant = std::any_of(
        state.constants.begin(), state.constants.end(), [&](const SpeciesState::Constant& other) {
            return other.name.starts_with(record) && differs(other.options);
        });
    if (!of_record && !of_constant) return {};
    return invalid(fmt::format("record '{}/{}'", state.name, name),
                   "unit_dimension, time_offset, macro_weighted and weighting_power are the "
                   "record's; give all components the same");
}

/// For what must be the same on all ranks.
std::string describe(const std::vector<store::Attribute>& attributes) {
    writer::Metadata said;
    for (const store::Attribute& attribute : attributes)
        said.set({AttributeOwner::Kind::field, {}}, attribute.name, attribute.value);
    return fmt::format("|{}", said.digest());
}

std::string describe(const RecordOptions& options) {
    std::string text = fmt::format("{}|{}|{}|{}", options.unit_si, options.time_offset,
                                   options.macro_weighted, options.weighting_power);
    for (const double power : options.unit_dimension) text += fmt::format("|{}", power);
    if (options.codec)
        for (const unsigned value : options.codec->cd_values) text += fmt::format("|{}", value);
    return text + describe(options.attributes);
}

}  // namespace

Result<Species> Writer::define_species(const std::string& name, const SpeciesOptions& options) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    const std::string who = fmt::format("species '{}'", name);
    auto& all = impl_->fields.species;
    if (Status status = writer::check_field_name(name); !status.ok())
        return status.with_context(who);
    if (name.find('/') != std::string::npos) return invalid(who, "its name has a '/'");
    if (std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; }))
        return invalid(who, "is already defined");
    if (impl_->tree->has_one_space_of_names() && impl_->fields.has_record(name))
        return invalid(who, "is the name of a field, and they lie in one group in this layout");
    const ledger::Book& book = impl_->ledger->book();
    if (impl_->intake->dump() || book.next_dump() != book.first_dump())
        return invalid(who, impl_->series.name
                                ? "this file has a dump; define species before a file's first"
                                : "a dump has begun; define species before the first");
    if (options.order != Order::given && options.order != Order::any)
        return invalid(who, fmt::format("order {} is unknown", static_cast<int>(options.order)));
    if (options.keep_index && options.order == Order::given)
        return invalid(who, "keep_index says what Order::any has changed; the order is as given");
    SpeciesOptions checked = options;
    if (Status status =
            check({AttributeOwner::Kind::species, name}, checked.attributes, *impl_->tree);
        !status.ok())
        return status;
    all.push_back({name, std::move(checked)});
    impl_->fields.note(fmt::format("species|{}|{}|{}", name, static_cast<int>(options.order),
                                   describe(options.attributes)));
    const Species species{static_cast<std::uint32_t>(all.size() - 1)};
    if (!options.keep_index) return species;
    RecordOptions of_index;
    of_index.codec = CodecSpec{};
    const auto index = define_record(species, "index", uint64, lossless(), of_index);
    if (!index.ok()) return index.status();
    impl_->fields[index->index].particles->is_index = true;
    return species;
}

Result<Field> Writer::define_record(Species species, const std::string& name, DType dtype,
                                    const ErrorBound& bound, const RecordOptions& options) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (Status status = check_record_name(impl_->fields, species, name); !status.ok())
        return status;
    if (Status status = check_same_record(impl_->fields, species, name, options); !status.ok())
        return status;
    const std::string full = impl_->fields.species[species.index].name + "/" + name;
    const std::string who = fmt::format("record '{}'", full);
    if (!is_known(dtype))
        return invalid(who, fmt::format("data type {} is unknown", static_cast<int>(dtype)));
    if (Status status = validate(bound); !status.ok()) return status.with_context(who);
    RecordOptions checked = options;
    if (Status status = check(of_component(full), checked.attributes, *impl_->tree); !status.ok())
        return status;
    const CodecSpec codec = options.codec.value_or(impl_->session.options.codec);
    const auto filters = writer::try_codec(impl_->session, who, codec, dtype, 1, bound);
    if (!filters.ok()) return filters.status();
    FieldState state(full, dtype, {0}, bound, codec, {},
                     impl_->session.experience->of_field("particles/" + full, codec, dtype, {}));
    state.particles = FieldState::OfSpecies{species.index, std::move(checked)};
    return impl_->fields.add(std::move(state),
                             fmt::format("record|{}|{}|{}|{}|{}|{}|{}", full, to_string(dtype),
                                         static_cast<int>(bound.kind), bound.value, codec.name,
                                         *filters, describe(options)));
}

Status Writer::define_constant(Species species, const std::string& name, double value,
                               const RecordOptions& options) {
    if (Status here = impl_->session.check_process(); !here.ok()) return here;
    if (Status status = check_record_name(impl_->fields, species, name); !status.ok())
        return status;
    if (Status status = check_same_record(impl_->fields, species, name, options); !status.ok())
        return status;
    SpeciesState& state = impl_->fields.species[species.index];
    RecordOptions checked = options;
    if (Status status =
            check(of_component(state.name + "/" + name), checked.attributes, *impl_->tree);
        !status.ok())
        return status;
    state.constants.push_back({name, value, std::move(checked)});
    impl_->fields.note(
        fmt::format("constant|{}/{}|{}|{}", state.name, name, value, describe(options)));
    return {};
}

Status Dump::put_particle_bytes(Field record, std::uint64_t count, const void* data, DType dtype,
                                Ownership own) {
    return writer_->impl_->intake->put_particles(record, count, data, dtype, own);
}

}  // namespace caesura
