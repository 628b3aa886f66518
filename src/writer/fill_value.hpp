// What is where no box lay, as it lies in memory; and values that mark a place without data.
#pragma once

#include <array>

#include "caesura/writer.hpp"
#include "codec/bound/missing.hpp"

namespace caesura::writer {

/// The value in the field's type, its bytes first. Errors: invalid_argument (the type has no such
/// value: out of its range, or a fraction or NaN where it is one of integers).
Result<std::array<std::byte, 8>> fill_of(const FillValue& value, DType dtype);

/// Of a type that may_have_missing(). @param bytes  one value.
FillValue value_of(std::span<const std::byte> bytes, DType dtype);

std::string to_string(const FillValue& value);

/// Bits of the missing values that a definition names: FieldOptions::missing, and attributes
/// `_FillValue` and `missing_value`. Values that the type cannot hold are left out.
codec::ValueBits declared_missing(const FieldOptions& options, DType dtype);
/// Errors: invalid_argument (a value that the type does not have; too many).
Status check_missing(const FieldOptions& options, DType dtype);
/// Attributes that say it to readers, unless the definition brings them itself.
std::vector<store::Attribute> missing_attributes(const FieldOptions& options, DType dtype);

}  // namespace caesura::writer
