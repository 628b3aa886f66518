// The attributes that a user gives: which default they take the place of, where they belong, and
// which cannot be. Nothing that a user says is dropped in silence.
#pragma once

#include "caesura/writer.hpp"

namespace caesura::writer {

/// The value takes the place of a default of that name; what has none comes behind.
void set_attribute(std::vector<store::Attribute>& attributes, const store::Attribute& wanted);
/// Does it say something of a record (its group, if it has components), not of one dataset?
bool is_of_record(std::string_view attribute);

/// Errors: invalid_argument when a name is the library's.
Status check_attributes(const std::string& field, const FieldOptions& options);
/// Errors: invalid_argument when both are components of one record, and what they say of it
/// differs.
Status check_same_record(const std::string& field, const FieldOptions& options,
                         const std::string& other_field, const FieldOptions& other);
/// Errors: invalid_argument when a name says how the file is laid out.
Status check_root_attributes(const WriterOptions& options);

}  // namespace caesura::writer
