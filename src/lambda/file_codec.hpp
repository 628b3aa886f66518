// A chain of transforms as a field of a file has it: a codec and its bound.
//
// Invariant: what a file says of a chunk any HDF5 program undoes with the filters that it names,
// and no key. So few chains fit: the codec's own coder, and zstd.
#pragma once

#include "caesura/codec.hpp"
#include "lambda/registry.hpp"

namespace caesura::lambda {

struct FileCodec {
    CodecSpec codec;
    ErrorBound bound;
};
/// For FieldOptions::codec and the field's bound. A relative bound and psnr then take the range of
/// the field, not that of a region.
/// Errors: invalid_argument (no chain of transforms); unsupported (it fits no file, and why).
Result<FileCodec> file_codec(const Registry& functions, std::string_view chain);

}  // namespace caesura::lambda
