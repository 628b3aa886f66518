// The rules for attributes that a user gives: which object they belong to, which names the library
// needs for itself, and what openPMD wants of the values of its own names. Nothing that a user says
// is dropped in silence.
#pragma once

#include "writer/metadata.hpp"

namespace caesura::writer {

using Attributes = std::vector<store::Attribute>;

/// The value takes the place of a default of that name; what has none comes behind.
void set_attribute(Attributes& attributes, const std::string& name,
                   const store::AttributeValue& value);

/// Where it goes: what openPMD asks of a record to the record, what is said of a record that has
/// no components to its dataset.
/// @param field  the name of the owner's field; "" if it has none.
AttributedObject object_of(AttributeOwner::Kind kind, const std::string& field,
                           std::string_view attribute);
/// The record of a field: the field itself, if it has no components.
AttributedObject record_of(const std::string& field);

/// May the object have it? The value becomes of the type that openPMD wants, if it is a number.
/// Errors: invalid_argument.
Status check_attribute(const AttributedObject& object, const std::string& name,
                       store::AttributeValue& value);

/// May a species or a record of one have it? Errors: also of names that follow from RecordOptions.
Status check_particle_attribute(const AttributedObject& object, const std::string& name,
                                store::AttributeValue& value);

/// How many axes its grid has.
int grid_axes(int rank, const AttributeMap& record);
/// Have the attributes of a field as many entries as its grid has axes?
/// Errors: invalid_argument.
Status check_axes(const std::string& field, int rank, const AttributeMap& record,
                  const AttributeMap& own);

/// What the options say, as attributes. Errors: invalid_argument (an attribute that a field may not
/// have; one that is said twice, differently).
Result<Attributes> attributes_of(const std::string& field, const FieldOptions& options);
Result<Attributes> attributes_of(const WriterOptions& options);

/// What a definition says becomes part of `metadata`. Errors: invalid_argument (of a record that
/// other components have said otherwise of): nothing is changed.
Status define(Metadata& metadata, const std::string& field, int rank, const Attributes& attributes);

}  // namespace caesura::writer
