// Caesura's own codec as a dataset's codec: no HDF5, no plugin, one mandatory filter.
#pragma once

#include <memory>

#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

/// Does the name ask for our codec? ("caesura", or "caesura:" and a mode, right or wrong)
bool is_caesura(const CodecSpec& spec);
/// @param spec  is_caesura(spec). Errors: invalid_argument (a mode that is none).
Status validate_mode(const CodecSpec& spec);

/// @param spec   is_caesura(spec).
/// @param bound  absolute, lossless or pointwise_relative, validated.
/// Errors: invalid_argument (a mode that is none, cd_values given).
Result<std::unique_ptr<BlockCodec>> make_caesura_codec(const CodecSpec& spec, DType dtype,
                                                       const Shape& chunk, const ErrorBound& bound,
                                                       const SharedTables& tables);

}  // namespace caesura::hdf5
