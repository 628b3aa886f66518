// What a caller of C says of files, fields, records and attributes, as C++ has it. Structs may come
// from a caller that was compiled against an older, shorter one.
#pragma once

#include <string_view>

#include "caesura/caesura.h"
#include "caesura/writer.hpp"

namespace caesura::capi {

/// A name that means nothing becomes a number that means nothing: the other ranks are on their way
/// into create(), which refuses it on all of them. `refused` says why on this one.
WriterOptions options_of(const caesura_options* given, Status& refused);

/// How many entries the caller's arrays have: the first of three axes counts modes.
std::size_t n_grid_axes(std::string_view geometry, std::size_t axes);

/// @param axes  of the field.
Result<FieldOptions> field_options_of(const caesura_field_options* given, DType dtype,
                                      std::size_t axes);

RecordOptions record_options_of(const caesura_record_options* given);

/// What define calls of fields and records are told alike.
Result<ErrorBound> bound_of(const std::string& who, int dtype, int kind, double bound);

Result<store::AttributeValue> attribute_value(int type, const void* values, std::size_t count);

}  // namespace caesura::capi
