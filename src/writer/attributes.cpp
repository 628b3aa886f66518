// Attributes that are set between definitions and end(): checked at once, against what holds.
#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.hpp"
#include "writer/impl.hpp"
#include "writer/user_attributes.hpp"

namespace caesura {

using base::invalid;
using writer::AttributedObject;
using Kind = AttributeOwner::Kind;

namespace {

/// With one more attribute, would every field of the record have as many entries as axes?
Status check_record(const writer::Fields& fields, const writer::DumpMetadata& said,
                    const AttributedObject& object, const std::string& name,
                    const store::AttributeValue& value) {
    const auto with = [&](const AttributedObject& of) {
        writer::AttributeMap holds = said.of(of);
        if (of == object) holds.insert_or_assign(name, value);
        return holds;
    };
    for (const writer::FieldState& field : fields) {
        if (field.particles) continue;
        const AttributedObject own{Kind::field, field.name}, record = writer::record_of(field.name);
        if (object != own && object != record) continue;
        if (Status fits =
                writer::check_axes(field.name, field.shape.rank(), with(record), with(own));
            !fits.ok())
            return fits;
    }
    return {};
}

}  // namespace

Status Writer::Impl::set_attribute(bool here, const AttributeOwner& owner, const std::string& name,
                                   store::AttributeValue value) {
    if (Status status = session.check_process(); !status.ok()) return status;
    auto& dump = intake->dump();
    const auto why = [&](std::string_view text) {
        return invalid(fmt::format("set_attribute('{}') on rank {} {}", name, session.rank, text));
    };
    if (closed) return why("after close()");
    if (here && !dump) return why("outside a dump");
    if (const std::string lack = tree->cannot_have(owner.kind, name); !lack.empty())
        return why(lack);
    AttributedObject object;
    bool of_particles = owner.kind == Kind::species;
    if (of_particles) {
        if (owner.of.index >= fields.species.size())
            return why(fmt::format("of a species handle {} that this writer has not defined",
                                   owner.of.index));
        object = {Kind::species, fields.species[owner.of.index].name};
    } else {
        const bool has_field = owner.kind == Kind::record || owner.kind == Kind::field;
        if (has_field && owner.of.index >= fields.size())
            return why(fmt::format("of a field handle {} that this writer has not defined",
                                   owner.of.index));
        const std::string field = has_field ? fields[owner.of.index].name : "";
        of_particles = has_field && fields[owner.of.index].particles;
        object = of_particles ? writer::particle_object(owner.kind, field)
                              : writer::object_of(owner.kind, field, name);
    }
    if (Status may = (of_particles ? writer::check_particle_attribute : writer::check_attribute)(
            object, name, value);
        !may.ok())
        return may;
    if (object.kind == Kind::file && here)
        return why("in one dump: the file has it for all; set it on the Writer");
    // Of a series it is the next file's.
    const bool begun = ledger->book().next_dump() > ledger->book().first_dump();
    if (object.kind == Kind::file && begun && !series.name)
        return why(
            "after the file's first dump, with which its attributes are committed; set it "
            "before, or on the iteration");
    // In the open dump it has to fit what is said there; else also in all that follow.
    const writer::Metadata& of_dump = dump ? dump->metadata : writer::nothing_said();
    for (const auto* const with : {&of_dump, &writer::nothing_said()}) {
        if (here && with != &of_dump) break;
        const writer::DumpMetadata said{{}, metadata, *with};
        if (Status fits = check_record(fields, said, object, name, value); !fits.ok()) return fits;
    }
    (here ? dump->metadata : metadata).set(object, name, std::move(value));
    return {};
}

Status Writer::set_attribute(const AttributeOwner& owner, const std::string& name,
                             store::AttributeValue value) try {
    return impl_->set_attribute(false, owner, name, std::move(value));
} catch (const std::bad_alloc&) {
    return writer::out_of_memory();
}

Status Dump::set_attribute(const AttributeOwner& owner, const std::string& name,
                           store::AttributeValue value) {
    Writer::Impl& impl = *writer_->impl_;
    Status status;
    try {
        status = impl.set_attribute(true, owner, name, std::move(value));
    } catch (const std::bad_alloc&) {
        status = writer::out_of_memory();
    }
    if (auto& dump = impl.intake->dump(); !status.ok() && dump && dump->error.ok())
        dump->error = status;
    return status;
}

}  // namespace caesura
