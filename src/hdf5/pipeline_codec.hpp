// A codec that is a pipeline of HDF5 filters as an application has set it on a dataset: deflate,
// shuffle and fletcher32, done here without HDF5, and filters of plugins.
//
// Invariants:
//  - A chunk goes through its filters whether they make it smaller or not, as with HDF5. What a
//    filter does not make of it (deflate that makes it longer than a place in the file is, a plugin
//    that fails) the chunk's filter mask says.
//  - No error is promised: what is lossy is what the application asked for. encode_exactly() leaves
//    out the filters that are not known to be lossless.
#pragma once

#include "hdf5/block_codec.hpp"

namespace caesura::hdf5 {

/// As make_block_codec() takes it, which no user writes: a name of its own, and cd_values that say
/// the filters.
CodecSpec pipeline_spec(std::span<const FilterSpec> filters);
bool is_pipeline(const CodecSpec& spec);

/// Deflate never makes chunks of so many bytes or fewer too long.
inline constexpr std::size_t k_always_deflated_bytes = std::size_t{256} << 10;

/// Can threads that call no HDF5 run the filter? Looks for its plugin: only from the thread that
/// owns HDF5. Errors: unsupported (built into HDF5 alone, or no plugin).
Status can_run(unsigned filter_id);
/// Does decoding give back the very bytes, whatever the parameters?
bool is_lossless(const FilterSpec& filter);

/// Errors: invalid_argument (no such pipeline), unsupported (as can_run).
Result<std::unique_ptr<BlockCodec>> make_pipeline_codec(const CodecSpec& spec, DType dtype,
                                                        const Shape& chunk);

}  // namespace caesura::hdf5
