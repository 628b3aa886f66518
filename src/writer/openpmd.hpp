// The openPMD face of a dump: groups, datasets and attributes as the standard (1.1.0) wants them,
// so that openPMD-api, openPMD-viewer, ParaView, VisIt and yt open the file.
//
// Layout: /data/<iteration>/meshes/<field>; a field named "velocity/x" is component x of the vector
// record "velocity", any other is a scalar record. /data/<iteration>/particles/<species>/<record>
// likewise (openpmd_particles.cpp).
#pragma once

#include "caesura/writer.hpp"
#include "store/manifest.hpp"
#include "writer/metadata.hpp"

namespace caesura::writer {

struct FieldState;
struct SpeciesState;

struct DumpTime {
    double time = 0.0, dt = 1.0, unit_si = 1.0;
};

/// What is said of a dump: in all of them, and in this one, where it wins.
struct DumpMetadata {
    DumpTime time;
    const Metadata& always = nothing_said();
    const Metadata& here = nothing_said();
    AttributeMap of(const AttributedObject& object) const { return holding(object, always, here); }
};

/// What any file of ours says of itself: the software, the date, what a user has set.
std::vector<store::Attribute> made_by(const DumpMetadata& said);
/// The root group's, and the groups that every dump has.
/// @param file_format  of a file for each dump: its iterationFormat; else empty.
void add_groups(store::DumpManifest& manifest, const DumpMetadata& said,
                const std::string& file_format = {});

/// Add the dataset of one field, and the record's group if it is a component.
/// @param extra  of the dataset, the library's own.
void add_field(store::DumpManifest& manifest, const std::string& name, DType dtype,
               const Shape& shape, const Shape& chunk, std::span<const FilterSpec> pipeline,
               const DumpMetadata& said, std::vector<store::Attribute> extra);

/// Of a file that has species: openPMD's validator wants the group in each iteration.
void add_particles_group(store::DumpManifest& manifest);
/// Add a component of a record: a dataset, or, of no particles, what stands for it.
void add_record(store::DumpManifest& manifest, const SpeciesState& species,
                const FieldState& record, std::span<const FilterSpec> pipeline,
                const DumpMetadata& said, std::vector<store::Attribute> extra);
/// Add what a species has beside its records. @param records  of it in the dump, at least one.
void add_species(store::DumpManifest& manifest, const SpeciesState& species,
                 std::span<const FieldState* const> records, const DumpMetadata& said);

/// Errors: invalid_argument when the name cannot be an openPMD record ("", "/x", "a/b/c", ...).
Status check_field_name(const std::string& name);

}  // namespace caesura::writer
