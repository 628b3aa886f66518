// The native connector's own operations on files, asked of a captured one. For each of them
// docs/reference/connector_calls.md says where the answer comes from.
#pragma once

#include "caesura/base.hpp"
#include "vol/object.hpp"

namespace caesura::vol {

enum class Answered : std::uint8_t {
    here,      ///< the outputs are set
    natively,  ///< what waits is in the image: the native connector is to be asked
};

/// @param on  a captured file. Errors: unsupported (no answer would be true; nothing is set); those
///            of CapturedFile::settle().
Result<Answered> answer_optional(const Object& on, const H5VL_optional_args_t& args);

}  // namespace caesura::vol
