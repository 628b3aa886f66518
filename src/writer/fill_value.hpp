// What is where no box lay, as it lies in memory.
#pragma once

#include <array>

#include "caesura/writer.hpp"

namespace caesura::writer {

/// The value in the field's type, its bytes first. Errors: invalid_argument (the type has no such
/// value: out of its range, or a fraction or NaN where it is one of integers).
Result<std::array<std::byte, 8>> fill_of(const FillValue& value, DType dtype);

std::string to_string(const FillValue& value);

}  // namespace caesura::writer
