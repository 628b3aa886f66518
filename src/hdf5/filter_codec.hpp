// A dataset's codec made of HDF5 filters: [lossy][zstd], [lossy] or [lossless].
#pragma once

#include <memory>

#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

/// @param spec   any name but "none".
/// @param bound  absolute or lossless, validated. @param missing  values that come back bit for
/// bit. Errors: as make_block_codec.
Result<std::unique_ptr<BlockCodec>> make_filter_codec(const CodecSpec& spec, DType dtype,
                                                      const Shape& chunk, const ErrorBound& bound,
                                                      const codec::ValueBits& missing = {});

/// Stores blocks as they are: an empty pipeline.
std::unique_ptr<BlockCodec> make_none_codec(DType dtype, const Shape& chunk);

}  // namespace caesura::hdf5
