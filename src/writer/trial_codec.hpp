// A missing plugin is found when a field is defined, not after its first dump was computed.
#pragma once

#include "writer/session.hpp"

namespace caesura::writer {

/// Makes the codec for a small block of so many axes, and says what it lacks.
/// @param who  names the field, for people
/// @return the pipeline's filters (filters_of()), which must be the same on all ranks. Errors: as
///         make_block_codec(), with `who`.
Result<std::string> try_codec(Session& session, const std::string& who, const CodecSpec& codec,
                              DType dtype, int axes, const ErrorBound& bound);

}  // namespace caesura::writer
