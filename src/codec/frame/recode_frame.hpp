// Frames of types that are coded as another one (recode.hpp).
#pragma once

#include "codec/frame/output.hpp"
#include "codec/frame/recode.hpp"

namespace caesura::codec {

/// compress() of such a type, of arguments that have been checked. Throws std::bad_alloc.
Status compress_recoded(std::span<const std::byte> values, DType dtype, const Shape& shape,
                        const ErrorBound& bound, const CompressOptions& options, Output& frame);
/// estimate() likewise.
Result<Estimate> estimate_recoded(std::span<const std::byte> values, DType dtype,
                                  const Shape& shape, const ErrorBound& bound,
                                  const CompressOptions& options);

}  // namespace caesura::codec
